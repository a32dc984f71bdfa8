import { afterAll, describe, expect, it } from 'vitest';
import { sessionId } from '../../src/core/session.ts';
import { says } from '../fakes/model-server.ts';
import { until } from '../until.ts';
import { Rig } from './rig.ts';

const never = new Promise<never>(() => undefined);

describe('the memory of a gateway', async () => {
  const rig = await Rig.start({ environment: { TERMINAL_ENV: 'local' } });
  afterAll(() => rig.close());
  let strangers = 0;
  /** So many people who are never seen again. */
  const others = async (count: number) => {
    for (let one = 0; one < count; one++) {
      const chat = `stranger-${++strangers}`;
      await rig.say('/whoami', { chat, isDirect: true });
      await rig.shows('Your role', chat);
    }
  };

  it('keeps active conversations and about a hundred others in memory', async () => {
    await rig.say('/run echo open', { chat: 'sandbox', isDirect: true });
    await rig.shows('open', 'sandbox');
    expect(rig.app.sandboxes.openCount).toBe(1);
    rig.model.script = () => never;
    await rig.say('think for long', { chat: 'turn', isDirect: true });
    await until('the model was asked', () => rig.gateway.busy === 1 && rig.model.requests.length === 1);
    await others(130);
    // A hundred at rest, those two, and whoever was heard a moment ago.
    expect(rig.gateway.held).toBeGreaterThanOrEqual(102);
    expect(rig.gateway.held).toBeLessThan(110);
    expect(rig.gateway.busy).toBe(1);
    await rig.say('/stop', { chat: 'turn', isDirect: true });
    await until('it ends', () => rig.gateway.busy === 0);
  });

  it('remembers a conversation that has left the memory', async () => {
    rig.model.script = () => says('I will remember.');
    await rig.say('my favourite number is 4711', { chat: 'back', isDirect: true });
    await rig.shows('I will remember.', 'back');
    await rig.quiet();
    await others(101);
    rig.model.script = () => says('It is 4711.');
    await rig.say('what is it?', { chat: 'back', isDirect: true });
    await rig.shows('It is 4711.', 'back');
    expect(rig.lastPrompt).toContain('my favourite number is 4711');
  });

  it('holds every conversation in memory while it is told how its background processes ended', async () => {
    for (let one = 0; one < 130; one++) {
      const place = { platform: 'fake', workspace: undefined, chat: `left-${one}`, thread: undefined };
      const about = { place, from: { id: 'ada', name: 'Ada' }, isDirect: true };
      const session = sessionId({ ...place, user: 'ada' }).parts;
      const started = { process: `0000000${one}`.slice(-8), command: 'sleep 1000', patterns: [], startedAt: new Date() };
      await rig.store.background.add({ ...about, ...started, session, role: 'admin', survives: false });
    }
    const answer = Promise.withResolvers<ReturnType<typeof says>>();
    await rig.stopGateway();
    const before = rig.model.requests.length;
    rig.model.script = () => answer.promise;
    await rig.startGateway();
    await until('the model is told of all of them', () => rig.model.requests.length === before + 130);
    expect(rig.gateway.busy).toBe(130);
    answer.resolve(says('I have read it.'));
    await rig.quiet();
  });
});
