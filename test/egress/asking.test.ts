import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { isAskable } from '../../src/egress/asking.ts';
import { PacedWork } from '../../src/egress/paced-work.ts';
import { until } from '../until.ts';
import { FakeLine } from './fake-line.ts';
import { type RigOptions, SessionRig } from './session-rig.ts';

let rig: SessionRig;
let line: FakeLine;
afterEach(async () => await rig?.stop());

async function open(options: RigOptions = {}): Promise<void> {
  line = new FakeLine();
  rig = await new SessionRig({ asking: line, ...options }).start();
  await rig.serve(
    80,
    createHttpServer((_request, response) => response.end('answer')),
  );
  await rig.serve(
    7,
    createServer((socket) => socket.pipe(socket)),
  );
}

const once = { allowed: true, until: 'command-ends' } as const;
const get = (host: string): string => `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`;

describe('a host that people may be asked about', () => {
  it.each(['example.com', 'a.b.example', '8.8.8.8', '2606:4700::1111', 'x.mylocal', 'local.example'])('is %s', (host) =>
    expect(isAskable(host)).toBe(true),
  );

  it.each(['localhost', 'x.localhost', 'printer.local', '1.0.0.10.in-addr.arpa', 'home.arpa', 'intranet'])('is not %s', (host) =>
    expect(isAskable(host)).toBe(false),
  );
});

describe('a connection that no rule allows', () => {
  it('is held without a time limit, also when its client has ended its half', async () => {
    await open({ limits: { openingMs: 1_000, idleMs: 1_000, silentMs: 1_000, firstByteMs: 1_000 } });
    const peer = await rig.connect();
    peer.socket.end(get('wanted.test'));
    await line.asked('wanted.test');
    // A connection that is cut later shows that the time is over.
    await (await rig.connect()).closed();
    line.answer('wanted.test', once);
    expect(await peer.until('answer')).toContain('200 OK');
    expect(rig.lookups).toEqual(['wanted.test']);
  });

  it('is judged by the rules when they change while it waits', async () => {
    await open();
    const [first, second, third] = [await rig.connect(), await rig.connect(), await rig.connect()];
    first.socket.write(get('denied.test'));
    second.socket.write(get('allowed.test'));
    third.socket.write(get('waiting.test'));
    for (const host of ['denied.test', 'allowed.test', 'waiting.test']) await line.asked(host);
    rig.change({ allow: ['allowed.test'], deny: ['denied.test'] });
    expect(await first.until('network.deny')).toContain('403');
    expect(await second.until('answer')).toContain('200 OK');
    await until('both are told to be left', () => line.left.length === 2);
    expect(line.left).toEqual(['denied.test', 'allowed.test']);
    // A late yes opens nothing that a rule denies.
    line.answer('denied.test', once);
    first.socket.write(get('denied.test'));
    expect(await first.until('network.deny')).toContain('403');
    line.answer('waiting.test', once);
    expect(await third.until('answer')).toContain('200 OK');
    expect(rig.lookups).toEqual(['allowed.test', 'waiting.test']);
  });

  it('is judged by rules that change while its program is looked for', async () => {
    await open();
    const { promise, resolve } = Promise.withResolvers<void>();
    line.ownersKnown = promise;
    const peer = await rig.connect();
    peer.socket.write(get('allowed.test'));
    await until('its program is looked for', () => line.owned === 1);
    rig.change({ allow: ['allowed.test'] });
    resolve();
    expect(await peer.until('answer')).toContain('200 OK');
    expect(line.questions).toEqual([]);
  });

  it('stays open when rules change that do not concern it, and is cut by a rule that denies it', async () => {
    await open();
    const opening = rig.tunnel('tunnel.test:7');
    await line.asked('tunnel.test');
    line.answer('tunnel.test', once);
    const { peer } = await opening;
    rig.change({ allow: ['other.test'] });
    peer.socket.write('still here');
    await peer.until('still here');
    rig.change({ deny: ['tunnel.test'] });
    expect(await peer.closed()).toBe('reset');
    expect(rig.blocked).toEqual([{ host: 'tunnel.test', port: 7, reason: 'denied' }]);
  });

  it('waits with all others of its command; those of other commands have questions of their own', async () => {
    await open();
    const marks = ['1000000000000001', '1000000000000001', '1000000000000002'];
    const peers = [];
    for (const mark of marks) {
      line.mark = mark;
      const peer = await rig.connect();
      peer.socket.write(get('wanted.test'));
      peers.push(peer);
      await until('it waits', () => line.owned === peers.length);
      await line.asked('wanted.test');
    }
    expect(line.questions.map(({ mark }) => mark)).toEqual(['1000000000000001', '1000000000000002']);
    line.mark = '1000000000000001';
    line.answer('wanted.test', once);
    await Promise.all(peers.slice(0, 2).map((peer) => peer.until('answer')));
    line.mark = '1000000000000002';
    line.answer('wanted.test', { allowed: false, reason: 'unanswered' });
    expect(await peers[2]?.until('no answer came')).toContain('403');
    expect(rig.blocked).toEqual([{ host: 'wanted.test', port: 80, reason: 'unanswered' }]);
  });

  it('is asked about at most 64 times at once, and blocked beyond that', async () => {
    await open();
    const peers = await Promise.all(
      Array.from({ length: 100 }, async (_, number) => {
        const peer = await rig.connect();
        peer.socket.write(get(`${number}.many.test`));
        return peer;
      }),
    );
    await until('the rest is blocked', () => rig.blocked.length === 36);
    expect(line.questions).toHaveLength(64);
    expect(new Set(rig.blocked.map(({ reason }) => reason))).toEqual(new Set(['too-many-questions']));
    for (const { request } of line.questions) line.answer(request.host, once);
    const texts = await Promise.all(peers.map(async (peer) => await peer.until('\r\n\r\n')));
    expect(texts.filter((text) => text.includes('200 OK'))).toHaveLength(64);
  });

  it('is asked about again when clients leave and come back, at most four times at once', async () => {
    await open();
    for (let round = 0; round < 10; round++) {
      const peer = await rig.connect();
      peer.socket.write(get('wanted.test'));
      await until('it waits', () => line.owned === round + 1);
      await line.asked('wanted.test');
      peer.socket.resetAndDestroy();
      await until('it has left', () => rig.blocked.length === round + 1);
    }
    expect(new Set(rig.blocked.map(({ reason }) => reason))).toEqual(new Set(['not-awaited']));
    expect(line.questions).toHaveLength(4);
    expect(line.left).toHaveLength(4);
    const last = await rig.connect();
    last.socket.write(get('wanted.test'));
    await until('it waits', () => line.owned === 11);
    line.answer('wanted.test', once);
    expect(await last.until('answer')).toContain('200 OK');
  });

  it('is cut when its sandbox is closed while it waits, and nothing waits any more', async () => {
    await open();
    const peer = await rig.connect();
    peer.socket.write(get('wanted.test'));
    await line.asked('wanted.test');
    rig.session.close();
    expect(await peer.closed()).toBe('reset');
    expect(rig.blocked).toEqual([]);
  });
});

describe('work that a sandbox causes', () => {
  it('leaves the thread to others between its slices', async () => {
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    function* untilOthersHadTurns(): Generator<undefined, string> {
      while (turns < 2) yield;
      return 'they had';
    }
    expect(await new PacedWork(60_000).run(untilOthersHadTurns)).toBe('they had');
    clearInterval(timer);
  });

  it('is given up when it does not end', async () => {
    function* endless(): Generator<undefined, string> {
      for (;;) yield;
    }
    expect(await new PacedWork(50).run(endless)).toBeUndefined();
  });

  it('has a result, one after the other, also after one that failed', async () => {
    const paced = new PacedWork();
    const results: string[] = [];
    function* work(name: string): Generator<undefined, void> {
      for (let step = 0; step < 3; step++) {
        results.push(`${name}${step}`);
        yield;
      }
      if (name === 'b') throw new Error('a bug');
    }
    await Promise.allSettled(['a', 'b', 'c'].map((name) => paced.run(() => work(name))));
    expect(results).toEqual(['a0', 'a1', 'a2', 'b0', 'b1', 'b2', 'c0', 'c1', 'c2']);
  });
});

describe('connections that are allowed', () => {
  it('are told when an answer allowed them, with their bytes once they have ended', async () => {
    await open({ allow: ['listed.test:7'] });
    const opening = rig.tunnel('asked.test:7');
    await line.asked('asked.test');
    line.answer('asked.test', once);
    const { peer } = await opening;
    peer.socket.write('hello');
    await peer.until('hello');
    await rig.tunnel('listed.test:7');
    expect(rig.allowed.take()).toEqual([
      { host: 'asked.test', port: 7, count: 1, bytes: 0, rule: undefined, secrets: [], placeholders: [] },
    ]);
    peer.socket.end();
    const ended = await until('it has ended', () => rig.allowed.take()[0]);
    expect(ended).toEqual({ host: 'asked.test', port: 7, count: 0, bytes: 10, rule: undefined, secrets: [], placeholders: [] });
  });

  it('are all told with their rule when the rules say so', async () => {
    await open({ allow: ['*.listed.test'] });
    rig.rules = { ...rig.rules, notesAllowed: true };
    const peer = await rig.connect();
    for (let n = 0; n < 3; n++) {
      peer.socket.write(get('a.listed.test'));
      await peer.until('answer');
    }
    expect(rig.allowed.take()).toEqual([
      { host: 'a.listed.test', port: 80, count: 3, bytes: expect.any(Number), rule: '*.listed.test', secrets: [], placeholders: [] },
    ]);
  });
});
