import { afterAll, expect, it } from 'vitest';
import { until } from '../until.ts';
import { describeContained } from './contained.ts';
import { Rig } from './rig.ts';

describeContained('notices about sandboxes', async () => {
  const rig = await Rig.start({
    environment: { TERMINAL_ENV: 'auto', DOCKER_HOST: 'unix:///nowhere/docker.sock', HERMETIC_GATEWAY_MAX_SANDBOXES: '1' },
  });
  afterAll(() => rig.close());
  const count = (part: string, chat = 'ada') => rig.texts(chat).filter((text) => text.includes(part)).length;
  const sandboxOf = (user: string) => rig.app.sandboxes.of({ platform: 'fake', workspace: undefined, chat: user, thread: undefined, user });
  const fallback = 'This session runs on bubblewrap';

  it('names another backend than the first choice once, with the reason and without a host path', async () => {
    await rig.say('/run echo first');
    await rig.shows('first');
    expect(await rig.shows(fallback)).toMatch(/docker is not running\.$/);
    expect(rig.all()).not.toContain('nowhere');
    expect(rig.log.join()).toContain('/nowhere/docker.sock');
    await sandboxOf('ada').close();
    await rig.say('/run echo second');
    await rig.shows('second');
    await rig.quiet();
    expect(count(fallback)).toBe(1);
    expect(rig.log.filter((line) => line.includes('instead')).length).toBe(2);
  });

  it('logs notices for the operator, and does not send them to chats', async () => {
    expect(rig.log.join()).toContain('The disk limit is only watched');
    expect(rig.all()).not.toContain('disk limit');
  });

  it('reports a lost sandbox every time', async () => {
    for (const times of [1, 2]) {
      await rig.say('/run kill -9 -1; sleep 60');
      await rig.say('/run echo alive again');
      await until('it says so', () => count('The sandbox was lost') === times && count('alive again') === times);
    }
    expect(count(fallback)).toBe(1);
  });

  it('tells a waiting person their place in the queue and when it is their turn, and tells no one else', async () => {
    await rig.say('/run echo busy now; sleep 600');
    await until('it runs', () => rig.activities.some((one) => one.kind === 'tool-output' && one.text.includes('busy now')));
    await rig.say('/run echo had it', { from: 'bob' });
    await rig.shows('All sandboxes are in use. This session is next in the queue.', 'bob');
    await rig.say('/run echo had it', { from: 'cleo' });
    await rig.shows('This session is number 2 in the queue.', 'cleo');
    await rig.say('/stop');
    for (const from of ['bob', 'cleo']) await rig.shows('had it', from);
    await rig.quiet();
    expect(count('All sandboxes are in use', 'bob')).toBe(1);
    for (const from of ['bob', 'cleo']) expect(count('It is the turn of this session', from)).toBe(1);
    expect(count('All sandboxes are in use')).toBe(0);
  });
});
