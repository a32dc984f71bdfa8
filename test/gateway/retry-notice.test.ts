import { afterEach, describe, expect, it } from 'vitest';
import { RetryNotice } from '../../src/gateway/turns/retry-notice.ts';
import { calls, inTurn, refuses, says } from '../fakes/model-server.ts';
import { until } from '../until.ts';
import { Program } from './program.ts';
import { Rig } from './rig.ts';

const never = new Promise<never>(() => undefined);

describe('notices of provider failures', { timeout: 90_000 }, () => {
  let close = async (): Promise<void> => undefined;
  afterEach(() => close());
  const rigWith = async (retryNoticeMs: number) => {
    const rig = await Rig.start({
      environment: { TERMINAL_ENV: 'local' },
      settings: { retryNoticeMs },
    });
    close = () => rig.close();
    return rig;
  };

  it('tells the chat once, with the reason, that a failing provider is retried, and the answer follows', async () => {
    const overloaded = refuses(503, 'overloaded', { 'retry-after': '3' });
    const { promise: isTold, resolve: told } = Promise.withResolvers<void>();
    const script = inTurn(overloaded, overloaded, overloaded, says('Here I am.'));
    const program = await Program.start({
      script: async (request) => {
        // The answer, which does not come before people were told.
        if (request.index === 3) await isTold;
        return await script(request);
      },
    });
    close = () => program.close();
    program.api.world.says({ text: 'hello' });
    await program.shows(/retrying\.[\s\S]*503[\s\S]*overloaded/);
    // Before the answer, and not beside it.
    expect(program.texts()).toHaveLength(1);
    told();
    await program.shows('Here I am.');
    expect(program.model.requests).toHaveLength(4);
    expect(program.texts()).toEqual([expect.stringContaining('retrying'), 'Here I am.']);
  });

  it('does not report a failure that lasts a moment only', async () => {
    const rig = await rigWith(60_000);
    rig.model.script = inTurn(refuses(503), says('Here I am.'));
    await rig.say('hello');
    await rig.shows('Here I am.');
    await rig.quiet();
    expect(rig.model.requests).toHaveLength(2);
    expect(rig.texts()).toEqual(['Here I am.']);
  });

  it('reports a failing provider during the retry, not afterwards', async () => {
    const rig = await rigWith(10);
    rig.model.script = ({ index }) => (index === 0 ? refuses(429, 'slow down', { 'retry-after-ms': '20' }) : never);
    await rig.say('hello');
    await rig.shows(/retrying\.[\s\S]*slow down/);
    await rig.say('/stop');
    await rig.shows('Stopped.');
  });

  it('reports an overdue failure at once, without a warning of Node', async () => {
    const warnings: string[] = [];
    const listener = ({ name }: Error): void => void warnings.push(name);
    process.on('warning', listener);
    try {
      const told = Promise.withResolvers<string>();
      // As when the first failure comes after the time to tell of it.
      new RetryNotice(-1000, told.resolve).failed('no answer in time');
      expect(await told.promise).toBe('no answer in time');
      expect(warnings).toEqual([]);
    } finally {
      process.off('warning', listener);
    }
  });

  it('reports two failures in one turn once', async () => {
    const rig = await rigWith(1);
    const busy = refuses(503, 'busy', { 'retry-after-ms': '300' });
    rig.model.script = inTurn(busy, calls(['terminal', { command: 'echo hi' }]), busy, says('Done.'));
    await rig.say('work');
    await rig.shows('Done.');
    await rig.quiet();
    expect(rig.texts().filter((text) => text.includes('retrying'))).toHaveLength(1);
    await until('all was asked', () => rig.model.requests.length === 4);
  });
});
