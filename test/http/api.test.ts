import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import type { WebChat, WebFile, WebMessage } from '../../src/core/web-log.ts';
import { until } from '../until.ts';
import { type GatewayOptions, placeOf, TestGateway } from './gateway.ts';
import { Line } from './sse.ts';

let gateway: TestGateway;
const lines: Line[] = [];
afterEach(async () => {
  for (const line of lines.splice(0)) line.close();
  await gateway?.remove();
});

async function start(options: GatewayOptions = {}): Promise<string> {
  gateway = await TestGateway.start(options);
  return await gateway.newChat();
}

async function follow(chat: string, headers: Record<string, string> = {}, query = ''): Promise<Line> {
  const line = await Line.open(gateway, chat, headers, query);
  lines.push(line);
  return line;
}

const texts = (messages: readonly WebMessage[]) => messages.map(({ text }) => text);
const page = async (chat: string, query = '') =>
  (await (await gateway.call(`/api/chats/${chat}/messages${query}`)).json()) as { messages: WebMessage[]; seq: number; hasMore: boolean };

describe('chats', () => {
  it('lists chats with their first message as the title, the latest first', async () => {
    const first = await start();
    const second = await gateway.newChat();
    await gateway.say(first, 'Look at the logs of yesterday\nand tell me more');
    const { chats } = (await (await gateway.call('/api/chats')).json()) as { chats: WebChat[] };
    expect(chats.map(({ id, title }) => ({ id, title }))).toEqual([
      { id: first, title: 'Look at the logs of yesterday' },
      { id: second, title: '' },
    ]);
  });

  it('lists chats page by page, and finds them by title', async () => {
    await start();
    const { webLog } = gateway.store;
    for (let index = 0; index < 12; index++) {
      const at = new Date(1_000_000 + index);
      await webLog.createChat({ id: `chat-${index}`, person: 'owner', title: `Look at ${index}`, startedAt: at, lastActiveAt: at });
    }
    const list = async (query: string) => {
      const answer = await gateway.call(`/api/chats?${query}`);
      const { chats = [], next } = (await answer.json()) as { chats?: WebChat[]; next?: string };
      return { status: answer.status, titles: chats.map(({ title }) => title), next };
    };
    const first = await list('limit=5');
    expect(first.titles).toEqual(['', 'Look at 11', 'Look at 10', 'Look at 9', 'Look at 8']);
    const second = await list(`limit=100&after=${first.next}`);
    expect(second.titles.length).toBe(8);
    expect([second.titles[0], second.next]).toEqual(['Look at 7', undefined]);
    expect((await list('search=LOOK 11')).titles).toEqual(['Look at 11']);
    for (const query of ['limit=101', 'limit=0', 'after=x', 'after=1', `search=${'x'.repeat(201)}`]) {
      expect([query, (await list(query)).status]).toEqual([query, 400]);
    }
  });

  it('hands a message on once, however often it is sent', async () => {
    const chat = await start();
    const id = randomUUID();
    const answers = await Promise.all([1, 2, 3].map(() => gateway.say(chat, 'hello', id)));
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
    expect((await gateway.say(chat, 'hello', id)).status).toBe(202);
    expect(texts((await page(chat)).messages)).toEqual(['hello']);
    expect(new Set(gateway.accepted.map((incoming) => incoming.id))).toEqual(new Set([id]));
    expect(gateway.accepted[0]).toMatchObject({
      kind: 'message',
      place: placeOf(chat),
      from: { id: 'owner' },
      text: 'hello',
      isDirect: true,
      isAddressed: true,
    });
  });

  it('hands a message on at the next start that a crash held back', async () => {
    const chat = await start();
    const content = { id: randomUUID(), author: 'person', text: 'before the crash', buttons: [], replyTo: undefined, files: [] } as const;
    await gateway.store.webLog.append(chat, content, new Date());
    await gateway.close();
    gateway = await TestGateway.start({ home: gateway.home });
    expect(gateway.accepted).toMatchObject([{ id: content.id, text: 'before the crash', from: { id: 'owner' } }]);
    await gateway.close();
    gateway = await TestGateway.start({ home: gateway.home });
    expect(gateway.accepted).toEqual([]);
  });

  it('hands simultaneous messages on in the order in which they are shown', async () => {
    const chat = await start();
    const words = Array.from({ length: 20 }, (_, number) => `word ${number}`);
    await Promise.all(words.map((text) => gateway.say(chat, text)));
    const shown = texts((await page(chat)).messages);
    expect(shown.toSorted()).toEqual(words.toSorted());
    expect(gateway.accepted.map((incoming) => incoming.kind === 'message' && incoming.text)).toEqual(shown);
  });

  it('stops while a message is not accepted, and hands it on at the next start', async () => {
    gateway = await TestGateway.start();
    const chat = await gateway.newChat();
    await gateway.channel.start(() => new Promise(() => undefined));
    const sent = gateway.say(chat, 'stuck').catch(() => undefined);
    await until('it is in the log', async () => (await page(chat)).messages.length === 1);
    await gateway.close();
    await sent;
    gateway = await TestGateway.start({ home: gateway.home });
    expect(gateway.accepted).toMatchObject([{ text: 'stuck' }]);
  });

  it('shows a message once that is sent twice under one key, also after a restart', async () => {
    const chat = await start();
    const message = { text: 'the answer', key: 'turn 7, part 1', file: { name: 'a.txt', data: Buffer.from('a') } };
    const first = await gateway.channel.send(placeOf(chat), message);
    await gateway.close();
    gateway = await TestGateway.start({ home: gateway.home });
    expect(await gateway.channel.send(placeOf(chat), message)).toBe(first);
    expect(await gateway.channel.send(placeOf(chat), { ...message, key: 'turn 7, part 2' })).not.toBe(first);
    expect(texts((await page(chat)).messages)).toEqual(['the answer', 'the answer']);
  });

  it('aborts a send, and refuses messages, edits and files that have no place', async () => {
    const chat = await start();
    await expect(gateway.channel.send(placeOf(chat), { text: 'x' }, AbortSignal.abort(new Error('no longer wanted')))).rejects.toThrow(
      'no longer wanted',
    );
    await expect(gateway.channel.send(placeOf('nowhere'), { text: 'x' })).rejects.toMatchObject({ code: 'channel/refused' });
    await expect(gateway.channel.edit(placeOf(chat), 'nothing', { text: 'x' })).rejects.toMatchObject({ code: 'channel/refused' });
    const large = { name: 'large', data: new Uint8Array(gateway.channel.traits.maxFileBytes + 1) };
    await expect(gateway.channel.send(placeOf(chat), { text: 'x', file: large })).rejects.toMatchObject({ code: 'channel/refused' });
    expect((await page(chat)).messages).toEqual([]);
  });

  it('answers 404 for chats that do not exist or belong to another person', async () => {
    await start();
    const at = new Date();
    await gateway.store.webLog.createChat({ id: 'somebody-elses', person: 'other', title: 'secret', startedAt: at, lastActiveAt: at });
    for (const chat of ['nowhere', 'somebody-elses']) {
      expect((await gateway.call(`/api/chats/${chat}/messages`)).status).toBe(404);
      expect((await gateway.call(`/api/chats/${chat}/events`)).status).toBe(404);
      expect((await gateway.say(chat, 'hello')).status).toBe(404);
      expect((await gateway.post(`/api/chats/${chat}/stop`)).status).toBe(404);
      expect((await gateway.post(`/api/chats/${chat}/press`, { id: randomUUID(), message: 'x'.repeat(8), data: 'x' })).status).toBe(409);
      expect((await gateway.call(`/api/chats/${chat}/files`, { method: 'POST', body: 'x', headers: { 'x-file-name': 'x' } })).status).toBe(
        404,
      );
    }
    expect(gateway.accepted).toEqual([]);
    expect(gateway.stopped).toEqual([]);
  });

  it('passes a stop request on', async () => {
    const chat = await start();
    expect((await gateway.post(`/api/chats/${chat}/stop`)).status).toBe(202);
    expect(gateway.stopped).toEqual([chat]);
  });

  it('passes on the press of an existing button, and of no other', async () => {
    const chat = await start();
    const message = await gateway.channel.send(placeOf(chat), { text: 'Sure?', buttons: [[{ label: 'Yes', data: 'q1:yes' }]] });
    const press = async (data: string) => (await gateway.post(`/api/chats/${chat}/press`, { id: randomUUID(), message, data })).status;
    expect(await press('q1:no')).toBe(409);
    expect(await press('q1:yes')).toBe(202);
    await gateway.channel.edit(placeOf(chat), message, { text: 'Done.' });
    expect(await press('q1:yes')).toBe(409);
    expect(gateway.accepted).toMatchObject([{ kind: 'press', data: 'q1:yes', message, from: { id: 'owner' } }]);
  });
});

describe('the event stream of a chat', () => {
  it('the stream begins with the current state, and continues with events', async () => {
    const chat = await start();
    await gateway.say(chat, 'one');
    const line = await follow(chat);
    const id = await gateway.channel.send(placeOf(chat), { text: 'two' });
    await gateway.channel.edit(placeOf(chat), id, { text: 'two, and more' });
    await line.until('the edit is there', () => texts(line.messages).includes('two, and more'));
    expect(line.messages[0]).toMatchObject({ text: 'one', author: 'person', seq: 1 });
    expect(line.messages.at(-1)).toMatchObject({ id, author: 'us', seq: 3, position: 2 });
  });

  it('a resumed stream continues where it was cut, with nothing missing and nothing twice', async () => {
    const chat = await start();
    const line = await follow(chat);
    const kept = await gateway.channel.send(placeOf(chat), { text: 'zero' });
    for (let count = 1; count <= 5; count++) await gateway.channel.send(placeOf(chat), { text: `before ${count}` });
    await line.until('all is there', () => line.messages.length === 6);
    line.close();
    for (let count = 1; count <= 120; count++) await gateway.channel.send(placeOf(chat), { text: `meanwhile ${count}` });
    await gateway.channel.edit(placeOf(chat), kept, { text: 'zero, edited' });
    const next = await follow(chat, { 'last-event-id': line.lastId });
    await next.until('all is there', () => texts(next.messages).includes('zero, edited'));
    await gateway.channel.send(placeOf(chat), { text: 'after' });
    await next.until('it goes on', () => texts(next.messages).includes('after'));
    expect(texts(next.messages)).toEqual([...Array.from({ length: 120 }, (_, index) => `meanwhile ${index + 1}`), 'zero, edited', 'after']);
    const third = await follow(chat, {}, `?after=${next.lastId}`);
    await third.until('it is told how things are', () => third.frames.some(({ event }) => event === 'now'));
    expect(third.messages).toEqual([]);
  });

  it('the stream resumes over a restart of the gateway', async () => {
    const chat = await start();
    await gateway.channel.send(placeOf(chat), { text: 'one' });
    const line = await follow(chat);
    await line.until('the first is there', () => line.messages.length === 1);
    await gateway.close();
    await line.until('the line is cut', () => line.isEnded);
    gateway = await TestGateway.start({ home: gateway.home });
    await gateway.channel.send(placeOf(chat), { text: 'two' });
    const next = await follow(chat, { 'last-event-id': line.lastId });
    await next.until('the second is there', () => next.messages.length > 0);
    expect(texts(next.messages)).toEqual(['two']);
  });

  it('the stream shows running tools, also to a later follower', async () => {
    const chat = await start();
    const first = await follow(chat);
    await gateway.say(chat, 'go');
    const place = placeOf(chat);
    gateway.channel.activity(place, { kind: 'turn-started', turn: 't1' });
    gateway.channel.activity(place, { kind: 'tool-started', turn: 't1', call: 'c1', tool: 'terminal', input: { command: 'ls' } });
    gateway.channel.activity(place, { kind: 'tool-output', turn: 't1', call: 'c1', text: 'a\n' });
    gateway.channel.activity(place, { kind: 'tool-output', turn: 't1', call: 'c1', text: 'b\n' });
    const late = await follow(chat);
    await late.until('it is told how things are', () => late.frames.some(({ event }) => event === 'now'));
    expect(late.frames.find(({ event }) => event === 'now')?.data).toEqual({
      kind: 'now',
      turn: 't1',
      calls: [{ call: 'c1', turn: 't1', tool: 'terminal', input: { command: 'ls' }, output: 'a\nb\n', state: 'running', after: 1 }],
    });
    gateway.channel.activity(place, { kind: 'turn-ended', turn: 't1' });
    await first.until('the turn ends', () => JSON.stringify(first.frames).includes('turn-ended'));
    const output = first.frames.flatMap(({ data }) => (data as { activity?: { text?: string } } | undefined)?.activity?.text ?? []);
    expect(output.join('')).toBe('a\nb\n');
    expect(first.frames.filter(({ event }) => event === 'activity').every(({ id }) => id === undefined)).toBe(true);
  });

  it('the stream separates the calls of two turns with the same id, before and after a restart', async () => {
    const chat = await start();
    const place = placeOf(chat);
    await gateway.say(chat, 'go');
    for (const turn of ['t1', 't2']) {
      const about = { turn, call: 'call_0' };
      gateway.channel.activity(place, { kind: 'turn-started', turn });
      gateway.channel.activity(place, { kind: 'tool-started', ...about, tool: 'terminal', input: {} });
      gateway.channel.activity(place, { kind: 'tool-output', ...about, text: `printed in ${turn}` });
      if (turn === 't1') gateway.channel.activity(place, { kind: 'tool-ended', ...about, outcome: { kind: 'done' }, text: '' });
      gateway.channel.activity(place, { kind: 'turn-ended', turn });
    }
    const shown = async () => {
      const line = await follow(chat);
      await line.until('it is told how things are', () => line.frames.some(({ event }) => event === 'now'));
      const now = line.frames.find(({ event }) => event === 'now')?.data as { calls: { turn: string; output: string; state: string }[] };
      line.close();
      return now.calls.map(({ turn, output, state }) => [turn, output, state]);
    };
    const both = [
      ['t1', 'printed in t1', 'done'],
      ['t2', 'printed in t2', 'failed'],
    ];
    expect(await shown()).toEqual(both);
    await gateway.close();
    gateway = await TestGateway.start({ home: gateway.home });
    expect(await shown()).toEqual(both);
  });

  it('the stream sends pings, and limits its followers', async () => {
    const chat = await start({ limits: { pingEveryMs: 20, maxFollowers: 2 } });
    const first = await follow(chat);
    await first.until('there were pings', () => first.frames.filter(({ event }) => event === 'ping').length > 3);
    const second = await follow(chat);
    expect(second.status).toBe(200);
    expect((await follow(chat)).status).toBe(503);
    second.close();
    await until('there is room again', async () => (await follow(chat)).status === 200);
  });

  it('refuses an invalid last-event-id', async () => {
    const chat = await start();
    for (const id of ['x', '-1', '1.5', '99999999999999999999']) expect((await follow(chat, { 'last-event-id': id })).status).toBe(400);
  });
});

describe('pages of earlier messages', () => {
  it('pages of earlier messages lead back to the first', async () => {
    const chat = await start();
    for (let count = 1; count <= 7; count++) await gateway.channel.send(placeOf(chat), { text: `${count}` });
    const last = await page(chat, '?limit=3');
    expect([texts(last.messages), last.seq, last.hasMore]).toEqual([['5', '6', '7'], 7, true]);
    const rest = await page(chat, `?limit=4&before=${last.messages[0]?.position}`);
    expect([texts(rest.messages), rest.hasMore]).toEqual([['1', '2', '3', '4'], false]);
    expect((await gateway.call(`/api/chats/${chat}/messages?limit=0`)).status).toBe(400);
  });
});

describe('files', () => {
  const upload = async (chat: string, name: string, body: string | Uint8Array<ArrayBuffer>) =>
    await gateway.call(`/api/chats/${chat}/files`, { method: 'POST', body, headers: { 'x-file-name': encodeURIComponent(name) } });

  it('uploads a file, attaches it to a message, and serves it as a download', async () => {
    const chat = await start();
    const data = Uint8Array.from({ length: 1000 }, (_, index) => index % 256);
    const file = (await (await upload(chat, '../../etc/päss\nwd "x".bin', data)).json()) as WebFile;
    expect(file).toMatchObject({ name: 'päss_wd "x".bin', bytes: 1000 });
    await gateway.post(`/api/chats/${chat}/messages`, { id: randomUUID(), text: '', files: [file.id] });
    const [incoming] = gateway.accepted;
    expect(incoming).toMatchObject({ kind: 'message', text: '', files: [file] });
    expect(await gateway.channel.fetchFile(file, 1000)).toEqual(Buffer.from(data));
    await expect(gateway.channel.fetchFile(file, 999)).rejects.toMatchObject({ code: 'channel/refused' });
    const answer = await gateway.call(`/api/chats/${chat}/files/${file.id}`);
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(Buffer.from(data));
    expect(answer.headers.get('content-disposition')).toBe(
      `attachment; filename="p_ss_wd _x_.bin"; filename*=UTF-8''p%C3%A4ss_wd%20%22x%22.bin`,
    );
  });

  it('serves every file as a download or an image, never as a page', async () => {
    const chat = await start();
    const message = await gateway.channel.send(placeOf(chat), {
      text: '',
      file: { name: 'a.html', data: Buffer.from('<script>alert(1)</script>') },
    });
    const file = (await gateway.store.webLog.find(chat, message))?.files[0];
    const answer = await gateway.call(`/api/chats/${chat}/files/${file?.id}`);
    expect(answer.headers.get('content-type')).toBe('application/octet-stream');
    expect(answer.headers.get('content-disposition')).toMatch(/^attachment;/);
    expect(answer.headers.get('content-security-policy')).toContain('sandbox');
    const png = Buffer.from('89504e470d0a1a0a0000', 'hex');
    const picture = await gateway.channel.send(placeOf(chat), { text: '', file: { name: 'a.png', data: png } });
    const shown = (await gateway.store.webLog.find(chat, picture))?.files[0];
    expect((await gateway.call(`/api/chats/${chat}/files/${shown?.id}`)).headers.get('content-type')).toBe('image/png');
  });

  it('serves a file in its own chat only', async () => {
    const chat = await start();
    const other = await gateway.newChat();
    const { id } = (await (await upload(chat, 'a.txt', 'secret')).json()) as WebFile;
    expect((await gateway.call(`/api/chats/${other}/files/${id}`)).status).toBe(404);
    expect((await gateway.post(`/api/chats/${other}/messages`, { id: randomUUID(), text: '', files: [id] })).status).toBe(409);
    expect(gateway.accepted).toEqual([]);
  });

  it('refuses a file that is too large', async () => {
    const chat = await start({ limits: { maxFileBytes: 1000 } });
    expect((await upload(chat, 'a', 'x'.repeat(1001))).status).toBe(413);
    expect((await upload(chat, 'a', 'x'.repeat(1000))).status).toBe(201);
  });
});

describe('refused requests', () => {
  it.each([
    ['no JSON', '{'],
    ['nothing said', JSON.stringify({ id: randomUUID(), text: ' \n' })],
    ['a bad id', JSON.stringify({ id: '../x', text: 'hello' })],
    ['something unknown', JSON.stringify({ id: randomUUID(), text: 'hello', author: 'us' })],
    ['too many files', JSON.stringify({ id: randomUUID(), text: 'x', files: Array.from({ length: 11 }, () => randomUUID()) })],
  ])('refuses a malformed message: %s', async (_case, body) => {
    const chat = await start();
    const headers = { 'content-type': 'application/json' };
    expect((await gateway.call(`/api/chats/${chat}/messages`, { method: 'POST', body, headers })).status).toBe(400);
    expect(gateway.accepted).toEqual([]);
  });

  it('refuses an invalid message with an explanation', async () => {
    const chat = await start();
    const refused = async (body: unknown) => await (await gateway.post(`/api/chats/${chat}/messages`, body)).json();
    expect(await refused({ id: 'long-enough', text: 'x'.repeat(60_001) })).toEqual({
      error: 'A message has at most 60,000 characters. Send more as a file. (text)',
    });
    expect(await refused({ id: 'short', text: 'x' })).toEqual({ error: 'An id has 8 to 64 letters, digits, _ and -. (id)' });
    expect(await refused({ id: 'long-enough', text: ' ' })).toEqual({ error: 'It says nothing.' });
    const init = { method: 'POST', body: 'nonsense', headers: { 'content-type': 'application/json' } };
    expect(await (await gateway.call(`/api/chats/${chat}/messages`, init)).json()).toEqual({ error: 'What was sent is not JSON.' });
  });

  it('refuses a body that is too large, also one without a stated length', async () => {
    const chat = await start({ limits: { maxJsonBytes: 2000 } });
    expect((await gateway.say(chat, 'x'.repeat(3000))).status).toBe(413);
    const stream = new Blob(['x'.repeat(3000)]).stream();
    const answer = await gateway.call(`/api/chats/${chat}/messages`, { method: 'POST', body: stream, duplex: 'half' } as RequestInit);
    expect(answer.status).toBe(413);
  });

  it('refuses requests beyond the rate limit', async () => {
    await start({ limits: { requestsPerMinute: 5 } });
    const answers = [];
    for (let count = 0; count < 6; count++) answers.push((await gateway.call('/api/chats')).status);
    expect(answers.at(-1)).toBe(429);
    expect((await gateway.call('/healthz')).status).toBe(200);
  });

  it('refuses a message while the gateway stops, with retry-after', async () => {
    const chat = await start();
    await gateway.channel.stop();
    const answer = await gateway.say(chat, 'hello');
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    expect((await page(chat)).messages).toEqual([]);
  });

  it('answers an internal error without its details', async () => {
    await start();
    await gateway.store.close();
    const answer = await gateway.call('/api/chats');
    expect([answer.status, await answer.json()]).toEqual([500, { error: 'Something went wrong. The log of the gateway says what.' }]);
    expect(gateway.sentences.join()).toContain('closed');
  });
});
