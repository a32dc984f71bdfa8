import { spawnSync } from 'node:child_process';
import { getEventListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { abortAfter, settlesWithin, within } from '../../src/lib/deadline.ts';

const never = new Promise<never>(() => undefined);
const hourMs = 3_600_000;

describe('within', () => {
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
  beforeEach(() => void process.on('unhandledRejection', onUnhandled));
  afterEach(async () => {
    await delay(5);
    process.off('unhandledRejection', onUnhandled);
    expect(unhandled.splice(0)).toEqual([]);
  });

  it('settles as the work does when it is in time', async () => {
    await expect(within(hourMs, Promise.resolve('done'), () => 'late')).resolves.toBe('done');
    await expect(within(hourMs, Promise.reject(new Error('broken')), () => 'late')).rejects.toThrow('broken');
  });

  it('returns the result of late after the deadline, and ignores a later end of the work', async () => {
    const resolving = Promise.withResolvers<string>();
    const rejecting = Promise.withResolvers<string>();
    await expect(within(1, resolving.promise, () => 'late')).resolves.toBe('late');
    await expect(within(1, rejecting.promise, () => 'late')).resolves.toBe('late');
    resolving.resolve('too late');
    rejecting.reject(new Error('too late'));
  });

  it('rejects when late throws or rejects', async () => {
    const fail = () => {
      throw new Error('no answer');
    };
    await expect(within(1, never, fail)).rejects.toThrow('no answer');
    await expect(within(1, never, async () => fail())).rejects.toThrow('no answer');
  });

  it('late can end the work and return its result', async () => {
    const work = Promise.withResolvers<string>();
    const killed = within(1, work.promise, () => {
      work.resolve('killed');
      return work.promise;
    });
    await expect(killed).resolves.toBe('killed');
  });

  it('takes a result that is there already, also with no time at all', async () => {
    await expect(within(0, Promise.resolve('done'), () => 'late')).resolves.toBe('done');
    await expect(within(0, never, () => 'late')).resolves.toBe('late');
  });

  it('waits when there is more time than a timer can count', async () => {
    const work = Promise.withResolvers<string>();
    const result = within(2 ** 40, work.promise, () => 'late');
    await delay(5);
    work.resolve('done');
    await expect(result).resolves.toBe('done');
  });

  it('calls late once when the signal aborts, or has aborted before', async () => {
    let calls = 0;
    const late = () => `late ${++calls}`;
    const controller = new AbortController();
    const result = within({ ms: 1, signal: controller.signal }, never, async () => {
      const text = late();
      controller.abort();
      await delay(5);
      return text;
    });
    await expect(result).resolves.toBe('late 1');
    await expect(within({ signal: controller.signal }, never, late)).resolves.toBe('late 2');
    expect(calls).toBe(2);
  });

  it('leaves no listener on its signal, in time or late', async () => {
    const { signal } = new AbortController();
    await within({ ms: hourMs, signal }, Promise.resolve(), () => undefined);
    await within({ ms: 1, signal }, never, () => undefined);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('the process', () => {
  function runs(source: string): string {
    const module = JSON.stringify(new URL('../../src/lib/deadline.ts', import.meta.url).href);
    const script = `import { within } from ${module}; const never = new Promise(() => {}); process.on('exit', () => console.log('end')); ${source}`;
    return spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8', timeout: 60_000 }).stdout;
  }

  it('a process exits at once when the work is done before its deadline', () => {
    expect(runs(`within(${hourMs}, Promise.resolve(), () => {}).then(() => console.log('done'));`)).toBe('done\nend\n');
  });

  it('a deadline keeps the process alive, and one with ref: false does not', () => {
    expect(runs(`within(50, never, () => console.log('late'));`)).toBe('late\nend\n');
    expect(runs(`within({ ms: ${hourMs}, ref: false }, never, () => console.log('late'));`)).toBe('end\n');
  });
});

describe('settlesWithin', () => {
  it('settlesWithin tells whether the work is done in time', async () => {
    await expect(settlesWithin(hourMs, Promise.resolve())).resolves.toBe(true);
    await expect(settlesWithin(1, never)).resolves.toBe(false);
    await expect(settlesWithin({ signal: AbortSignal.abort() }, never)).resolves.toBe(false);
  });

  it('settlesWithin rejects when the work does', async () => {
    await expect(settlesWithin(hourMs, Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  });
});

describe('abortAfter', () => {
  const heeding = (signal: AbortSignal) =>
    new Promise<string>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));

  it('abortAfter returns the result of work that is in time', async () => {
    await expect(abortAfter({ ms: hourMs }, async () => 'done')).resolves.toBe('done');
    await expect(abortAfter({ ms: undefined }, async () => 'done')).resolves.toBe('done');
  });

  it("aborts the work with the deadline's reason", async () => {
    await expect(abortAfter({ ms: 1 }, heeding, () => new Error('no answer'))).rejects.toThrow('no answer');
    await expect(abortAfter({ ms: 1 }, heeding)).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('aborts the work with the reason of its signal', async () => {
    const controller = new AbortController();
    const result = abortAfter({ ms: hourMs, signal: controller.signal }, heeding, () => new Error('no answer'));
    controller.abort(new Error('stopped'));
    await expect(result).rejects.toThrow('stopped');
  });

  it('does not begin the work when the signal has aborted before', async () => {
    let hasBegun = false;
    const begin = async () => {
      hasBegun = true;
    };
    await expect(abortAfter({ ms: 1, signal: AbortSignal.abort(new Error('stopped')) }, begin)).rejects.toThrow('stopped');
    expect(hasBegun).toBe(false);
  });

  it('waits for work that ignores its signal', async () => {
    const work = Promise.withResolvers<string>();
    const result = abortAfter({ ms: 1 }, (signal) => {
      signal.addEventListener('abort', () => work.resolve('done all the same'));
      return work.promise;
    });
    await expect(result).resolves.toBe('done all the same');
  });
});
