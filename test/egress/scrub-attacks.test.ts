import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import { expect, it, onTestFinished, vi } from 'vitest';
import { AllowedList } from '../../src/egress/allowed-list.ts';
import { Scrubber } from '../../src/egress/scrubber.ts';
import { Transit } from '../../src/egress/transit.ts';

const token = { value: 'ghp_5uwJp8RTFyfm1wFTEhLQGcYz47q1QEasnFRe', placeholder: `ghp_hmtc${'q'.repeat(32)}` };

function transitOf(secret: { value: string; placeholder: string }): Transit {
  return new Transit({ bound: [], ofHost: [], all: [], scrubber: new Scrubber([secret]) });
}

function answerOf(stream: Readable, headers: Record<string, string> = {}): IncomingMessage {
  return Object.assign(stream, { headers, rawHeaders: Object.entries(headers).flat(), statusCode: 200 }) as unknown as IncomingMessage;
}

it('a client that does not read for a while does not cut a value that its host sends at once', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const size = 65_536;
  const text = Buffer.alloc(8 * size, '.');
  text.write(token.value, 2 * size - 11);
  const pieces = Array.from({ length: 8 }, (_, index) => text.subarray(index * size, (index + 1) * size));
  const host = Readable.from(pieces, { objectMode: false });
  const body = transitOf(token).incoming(answerOf(host), 'GET')?.body ?? new PassThrough();
  while (body.readableLength < size) await new Promise((resolve) => setImmediate(resolve));
  vi.advanceTimersByTime(1_000);
  vi.useRealTimers();
  const received = Buffer.concat(await body.toArray()).toString('latin1');
  expect(received.slice(2 * size - 11, 2 * size + 29)).toBe(token.placeholder);
});

it('an answer that cannot be decoded is no uncaught error before it is listened to', async () => {
  const host = Readable.from([Buffer.from('not gzip at all')], { objectMode: false });
  const body = transitOf(token).incoming(answerOf(host, { 'content-encoding': 'gzip' }), 'GET')?.body ?? new PassThrough();
  // As when the head of the answer cannot be written: its reader is never attached.
  while (!body.destroyed) await new Promise((resolve) => setImmediate(resolve));
});

it('what a host has sent while the thread was busy is read before its silence counts', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const host = new PassThrough();
  const body = transitOf(token).incoming(answerOf(host), 'GET')?.body ?? new PassThrough();
  let received = '';
  body.on('data', (data: Buffer) => (received += data.toString()));
  host.write(`told ${token.value.slice(0, 11)}`);
  while (vi.getTimerCount() === 0) await new Promise((resolve) => setImmediate(resolve));
  // Timers come first in a turn, then what has arrived.
  vi.advanceTimersByTime(50);
  host.end(token.value.slice(11));
  await once(body, 'end');
  expect(received).toBe(`told ${token.placeholder}`);
});

it('a use of a secret, and a connection to a host that has one, are noted beside very many other destinations', () => {
  const list = new AllowedList(({ host }) => host === 'bound.test');
  const one = { port: 80, count: 1, bytes: 0, rule: '*.test', secrets: [], placeholders: ['TOKEN'] };
  for (let number = 0; number < 500; number++) list.add({ ...one, host: `${number}.test` });
  list.add({ ...one, host: 'api.test', secrets: ['TOKEN'] });
  list.add({ ...one, host: 'bound.test' });
  const noted = list.take();
  expect(noted.length).toBeLessThan(200);
  expect(noted).toContainEqual(expect.objectContaining({ host: 'api.test', secrets: ['TOKEN'] }));
  expect(noted).toContainEqual(expect.objectContaining({ host: 'bound.test', secrets: [] }));
});

const fromHost = (stream: Readable): Readable => transitOf(token).incoming(answerOf(stream), 'GET')?.body ?? new PassThrough();
const inFrames = (stream: Readable): Readable => stream.pipe(transitOf(token).frames() ?? new PassThrough());

it.each([
  ['answers', fromHost, (text: string) => Buffer.from(text)],
  [
    'the frames of websockets',
    inFrames,
    (text: string) => Buffer.from([0x81, 126, text.length >> 8, text.length & 0xff, ...Buffer.from(text)]),
  ],
])('beside large pieces of %s, a small one that comes later is done first', async (_, through, wrap) => {
  const order: string[] = [];
  const begin = async (name: string, bytes: Buffer): Promise<void> => {
    await once(through(Readable.from([bytes], { objectMode: false })).resume(), 'end');
    order.push(name);
  };
  const large = Buffer.concat(Array.from({ length: 16 }, () => wrap('\n'.repeat(60_000))));
  const all = [...Array.from({ length: 8 }, async (__, index) => await begin(`large ${index}`, large)), begin('small', wrap('told'))];
  await Promise.all(all);
  expect(order).toHaveLength(9);
  expect(order[0]).toBe('small');
});

it('a long piece lets other work of the thread come between, and neither a silence nor the end cuts it', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const text = Buffer.alloc(8_000_000, '\n');
  text.write(token.value, 4_000_000);
  const host = new PassThrough({ highWaterMark: text.length });
  const body = fromHost(host);
  const pieces: Buffer[] = [];
  body.on('data', (piece: Buffer) => pieces.push(piece));
  host.end(text);
  let rounds = 0;
  while (!body.readableEnded) {
    await new Promise((resolve) => setImmediate(resolve));
    vi.advanceTimersByTime(1_000);
    rounds += 1;
  }
  expect(rounds).toBeGreaterThan(10);
  // All but what is held back, and the rest.
  expect(pieces.map(({ length }) => length)).toEqual([text.length - 239, 239]);
  expect(Buffer.concat(pieces).toString('latin1').replaceAll('\n', '')).toBe(token.placeholder);
});

it('an answer whose client leaves while a long piece is read is read no further', async () => {
  const scrubber = new Scrubber([token]);
  const begun = scrubber.begin();
  const read = vi.spyOn(begun, 'push');
  vi.spyOn(scrubber, 'begin').mockReturnValue(begun);
  const host = new PassThrough({ highWaterMark: 4_000_000 });
  const body = new Transit({ bound: [], ofHost: [], all: [], scrubber }).incoming(answerOf(host), 'GET')?.body ?? new PassThrough();
  host.end(Buffer.alloc(4_000_000, '\n'));
  while (read.mock.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
  body.destroy();
  const count = read.mock.calls.length;
  for (let round = 0; round < 20; round++) await new Promise((resolve) => setImmediate(resolve));
  expect(read.mock.calls.length).toBe(count);
  expect(count * 4_096).toBeLessThan(4_000_000);
});

it.each([
  ['a URL', 'https://hooks.example.com/services/T01/B02/0123456789abcdefABCDEF', 'https://hooks.example.com/a'],
  ['the URL of a database', 'postgres://ada:0123456789abcdefABCDEF@db.example/x', 'postgres://ada:other'],
  [
    'a JSON Web Token',
    `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.${'0123456789abcdefABCDEF'.repeat(2)}`,
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.zz',
  ],
  ['an encrypted JSON Web Token', `eyJhbGciOiJkaXIifQ..${'0123456789abcdefABCDEF'.repeat(2)}`, 'eyJhbGciOiJkaXIifQ..zz'],
])('the public beginning of %s passes at the end of an answer, and its secret does not', (_, value, other) => {
  const scrubber = new Scrubber([{ value, placeholder: token.placeholder }]);
  expect(scrubber.texts([other])).toEqual([other]);
  expect(scrubber.texts([`told ${value}`]).join('')).not.toContain('0123456789');
});

it.each(['host', 'client'])('an answer whose %s is gone leaves no timer behind', async (gone) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const turn = async (): Promise<void> => await new Promise((resolve) => setImmediate(resolve));
  const [host, client] = [new PassThrough(), new PassThrough()];
  const body = transitOf(token).incoming(answerOf(host), 'GET')?.body ?? new PassThrough();
  body.pipe(client).resume();
  client.on('close', () => body.destroy());
  host.write('the beginning');
  while (vi.getTimerCount() === 0) await turn();
  (gone === 'host' ? host : client).destroy();
  while (!body.destroyed) await turn();
  expect(vi.getTimerCount()).toBe(0);
});

it.each(['%', '%4'])('a value with a slash comes back scrubbed in the JSON of PHP after %s', (before) => {
  const value = 'c29tZS9zZWNyZXQ/abc+defghijk/lmnop0123456';
  const scrubber = new Scrubber([{ value, placeholder: token.placeholder }]);
  expect(scrubber.texts([JSON.stringify(before + value).replaceAll('/', '\\/')]).join('')).not.toContain('defghijk');
});

it('the public parts of a token are no unknown characters: what follows them cannot be tried letter by letter', () => {
  const value = '6201234567:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw';
  const scrubber = new Scrubber([{ value, placeholder: token.placeholder }]);
  const guesses = ['6201234567:A', '6201234567:B'];
  expect(guesses.map((guess) => scrubber.texts([guess]).join(''))).toEqual(guesses);
});
