import { afterAll, expect, it } from 'vitest';
import { sleepMark } from '../contracts/sandbox/rig.ts';
import { processesWith } from '../engines.ts';
import { until } from '../until.ts';
import { describeContained } from './contained.ts';
import { Rig } from './rig.ts';

describeContained('an idle session', async () => {
  const rig = await Rig.start({ environment: { HERMETIC_GATEWAY_SANDBOX_LIFETIME: '1' } });
  const capped = await Rig.start({
    environment: { HERMETIC_GATEWAY_SANDBOX_LIFETIME: '1', HERMETIC_GATEWAY_BACKGROUND_LIFETIME: '2' },
  });
  afterAll(() => Promise.all([rig.close(), capped.close()]));
  const isOpen = (user: string) =>
    rig.app.sandboxes.of({ platform: 'fake', workspace: undefined, chat: user, thread: undefined, user }).isOpen;

  it('keeps the sandbox of an idle session while a background process runs in it', async () => {
    const mark = sleepMark();
    await rig.say(`/run sleep ${mark} & echo left`);
    await rig.shows('left');
    await rig.say('/run echo right', { from: 'bob' });
    await rig.shows('right', 'bob');
    await until('a sandbox without one is closed', () => !isOpen('bob'));
    expect(isOpen('ada')).toBe(true);
    expect(processesWith(mark)).toHaveLength(1);
    await rig.say(`/run pkill -f "sleep ${mark}"; echo ended`);
    await rig.shows('ended');
    await until('it is closed', () => !isOpen('ada'));
  });

  it('closes the sandbox after gateway.background_lifetime in spite of a background process', async () => {
    const mark = sleepMark();
    await capped.say(`/run sleep ${mark} & echo left`);
    await capped.shows('left');
    await until('the process has ended with the sandbox', () => processesWith(mark).length === 0);
  });
});
