import { afterEach, describe, expect, it, vi } from 'vitest';
import { Dialer, type DialParts } from '../../src/egress/dial.ts';
import { SessionLookups } from '../../src/egress/resolver.ts';
import { until } from '../until.ts';
import { rulesOf } from './session-rig.ts';

afterEach(() => {
  vi.useRealTimers();
});

/** A dialer whose look-ups stay open until they are answered or aborted. Connects to nothing. */
class Rig {
  /** In the order in which they began. */
  readonly begun: string[] = [];
  readonly open = new Map<string, (addresses: readonly string[]) => void>();
  readonly #dialer = new Dialer({
    classify: () => 'special',
    lookup: async (host, signal) => {
      this.begun.push(host);
      const { promise, resolve } = Promise.withResolvers<readonly string[]>();
      this.open.set(host, resolve);
      signal.addEventListener('abort', () => resolve([]));
      const addresses = await promise;
      this.open.delete(host);
      return addresses.map((address) => ({ address, family: 4 }));
    },
  });

  /** Makes one sandbox: dials hosts, and resolves with why it does not connect. */
  sandbox(): (host: string, signal?: AbortSignal) => Promise<string> {
    const parts: Omit<DialParts, 'signal'> = { rules: rulesOf([]), lookups: new SessionLookups() };
    return async (host, signal = new AbortController().signal) => {
      const result = await this.#dialer.dial({ host, port: 443 }, { ...parts, signal });
      return 'reason' in result ? result.reason : 'connected';
    };
  }

  async answer(host: string, ...addresses: readonly string[]): Promise<void> {
    const answer = await until(`${host} is asked for`, () => this.open.get(host));
    answer(addresses);
  }
}

const refusal = 'special-address';

/** Look-ups begin a few microtasks after they are wanted. */
const settled = async (): Promise<void> => {
  await new Promise((resolve) => setImmediate(resolve));
};

describe('look-ups of several sandboxes', () => {
  it.each([2, 20])('with %i sandboxes whose names are not answered, the next name of another one is asked for at once', async (count) => {
    const rig = new Rig();
    for (let n = 0; n < count; n++) {
      const greedy = rig.sandbox();
      for (let name = 0; name < 20; name++) void greedy(`x${name}.silent${n}.test`);
    }
    const other = rig.sandbox();
    for (const host of ['one.test', 'two.test', 'three.test']) {
      const before = rig.open.size;
      const dialed = other(host);
      await settled();
      expect(rig.begun.at(-1)).toBe(host);
      expect(rig.open.size).toBe(before + 1);
      await rig.answer(host, '127.0.0.1');
      expect(await dialed).toBe(refusal);
    }
  });

  it('share no answer, so that none shows what another one looked up', async () => {
    const rig = new Rig();
    const [one, two] = [rig.sandbox(), rig.sandbox()];
    const first = one('a.test');
    await rig.answer('a.test', '127.0.0.1');
    await first;
    const second = two('a.test');
    await rig.answer('a.test', '127.0.0.1');
    await second;
    expect(rig.begun).toEqual(['a.test', 'a.test']);
  });

  it('share no look-up that is open', async () => {
    const rig = new Rig();
    void rig.sandbox()('a.test');
    void rig.sandbox()('a.test');
    await settled();
    expect(rig.begun).toEqual(['a.test', 'a.test']);
  });

  it('are at most 128 at a time, and those that wait have their turns in order', async () => {
    const rig = new Rig();
    const hosts = Array.from({ length: 70 }, (_, n) => [`a${n}.test`, `b${n}.test`]);
    for (const pair of hosts) {
      const dial = rig.sandbox();
      for (const host of pair) void dial(host);
    }
    await settled();
    expect(rig.begun).toEqual(hosts.flat().slice(0, 128));
    await rig.answer('a3.test');
    await rig.answer('b7.test');
    await settled();
    expect(rig.begun.slice(128)).toEqual(['a64.test', 'b64.test']);
  });
});

describe('look-ups of one sandbox', () => {
  it('are at most two at a time, the others follow in order', async () => {
    const rig = new Rig();
    const dial = rig.sandbox();
    const all = Promise.all(['a.test', 'b.test', 'c.test', 'd.test'].map((host) => dial(host)));
    await settled();
    expect(rig.begun).toEqual(['a.test', 'b.test']);
    await rig.answer('b.test', '127.0.0.1');
    await settled();
    expect(rig.begun).toEqual(['a.test', 'b.test', 'c.test']);
    for (const host of ['a.test', 'c.test', 'd.test']) await rig.answer(host, '127.0.0.1');
    expect(await all).toEqual(Array(4).fill(refusal));
  });

  it('are one when several connections want one host', async () => {
    const rig = new Rig();
    const dial = rig.sandbox();
    const all = Promise.all([dial('a.test'), dial('a.test'), dial('a.test')]);
    await rig.answer('a.test', '127.0.0.1');
    expect(await all).toEqual(Array(3).fill(refusal));
    expect(rig.begun).toEqual(['a.test']);
  });

  it('end after 5 s without an answer, and the next name has its turn', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const rig = new Rig();
    const dial = rig.sandbox();
    const silent = Promise.all(['a.test', 'b.test'].map((host) => dial(host)));
    void dial('c.test');
    await vi.advanceTimersByTimeAsync(4_900);
    expect(rig.begun).toEqual(['a.test', 'b.test']);
    await vi.advanceTimersByTimeAsync(200);
    expect(await silent).toEqual(['unresolved', 'unresolved']);
    expect([...rig.open.keys()]).toEqual(['c.test']);
  });

  it('are kept for 30 s, and failures for 5 s', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const rig = new Rig();
    const dial = rig.sandbox();
    /** How many of the names were asked for. */
    const asked = async (...hosts: readonly string[]): Promise<number> => {
      const before = rig.begun.length;
      const all = Promise.all(hosts.map((host) => dial(host)));
      await settled();
      for (const [host, answer] of rig.open) answer(host === 'missing.test' ? [] : ['127.0.0.1']);
      await all;
      return rig.begun.length - before;
    };
    expect(await asked('a.test', 'missing.test')).toBe(2);
    vi.advanceTimersByTime(4_000);
    expect(await asked('a.test', 'missing.test')).toBe(0);
    vi.advanceTimersByTime(2_000);
    expect([await asked('a.test'), await asked('missing.test')]).toEqual([0, 1]);
    vi.advanceTimersByTime(25_000);
    expect(await asked('a.test')).toBe(1);
  });

  it('are forgotten, the oldest first, when there are too many', async () => {
    const rig = new Rig();
    const dial = rig.sandbox();
    for (let n = 0; n <= 1_000; n++) {
      const dialed = dial(`h${n}.test`);
      await settled();
      rig.open.get(`h${n}.test`)?.(['127.0.0.1']);
      await dialed;
    }
    rig.begun.length = 0;
    await dial('h1000.test');
    void dial('h0.test');
    await settled();
    expect(rig.begun).toEqual(['h0.test']);
  });
});

describe('look-ups for a connection that is gone', () => {
  it('end when no other connection wants the host, and are asked for anew by a later one', async () => {
    const rig = new Rig();
    const dial = rig.sandbox();
    const [first, second] = [new AbortController(), new AbortController()];
    const dialed = [dial('a.test', first.signal), dial('a.test', second.signal)];
    await settled();
    first.abort();
    await settled();
    expect([...rig.open.keys()]).toEqual(['a.test']);
    second.abort();
    await settled();
    expect([...rig.open.keys()]).toEqual([]);
    expect(await Promise.all(dialed)).toEqual(['unreachable', 'unreachable']);
    const later = dial('a.test');
    await rig.answer('a.test', '127.0.0.1');
    expect(await later).toBe(refusal);
    expect(rig.begun).toEqual(['a.test', 'a.test']);
  });

  it('do not begin when they still wait for their turn', async () => {
    const rig = new Rig();
    const dial = rig.sandbox();
    const gone = new AbortController();
    void dial('a.test');
    void dial('b.test');
    const waiting = dial('c.test', gone.signal);
    void dial('d.test');
    await settled();
    gone.abort();
    expect(await waiting).toBe('unreachable');
    await rig.answer('a.test', '127.0.0.1');
    await settled();
    expect(rig.begun).toEqual(['a.test', 'b.test', 'd.test']);
    expect(await dial('e.test', gone.signal)).toBe('unreachable');
    expect(rig.begun).not.toContain('e.test');
  });
});
