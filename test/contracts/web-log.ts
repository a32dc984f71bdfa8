import { beforeEach, expect, it } from 'vitest';
import type { ChatPlace, WebContent } from '../../src/core/web-log.ts';
import { at, type StorePlace, storeRig } from './store-rig.ts';

const chat = { id: 'chat-1', person: 'owner', title: '', startedAt: at(0), lastActiveAt: at(0) };
const said = (text: string, more: Partial<WebContent> = {}): WebContent => ({ text, buttons: [], replyTo: undefined, files: [], ...more });

/** Every promise of `src/core/web-log.ts`, for any database. */
export function webLogContract(newPlace: () => StorePlace): void {
  const rig = storeRig(newPlace);
  beforeEach(() => rig.store.webLog.createChat(chat));

  const append = (id: string, text: string, seconds = 1, author: 'us' | 'person' = 'us') =>
    rig.store.webLog.append('chat-1', { id, author, ...said(text) }, at(seconds));
  const texts = (messages: readonly { text: string }[]) => messages.map(({ text }) => text);

  it('keeps a message with its buttons, reply and files after the store is reopened', async () => {
    const content = said('a"b\u0000\n\ud800 😀', {
      buttons: [[{ label: 'Allow', data: 'x1' }], []],
      replyTo: 'm0',
      files: [{ id: 'f1', name: 'a.txt', mimeType: 'text/plain', bytes: 3 }],
    });
    const message = await rig.store.webLog.append('chat-1', { id: 'm1', author: 'us', ...content }, at(5));
    expect(message).toStrictEqual({ id: 'm1', author: 'us', seq: 1, position: 1, at: at(5), editedAt: undefined, ...content });
    await rig.store.close();
    const again = await rig.open();
    expect(await again.webLog.find('chat-1', 'm1')).toStrictEqual(message);
    expect(await again.webLog.chat('chat-1')).toStrictEqual({ ...chat, lastActiveAt: at(5) });
  });

  it('reads of a call that an older version stored as ok no more than that the tool answered', async () => {
    const call = { call: 'c1', turn: 't1', tool: 'terminal', input: {}, output: '', after: undefined };
    await rig.store.webLog.saveCall('chat-1', { ...call, state: 'ok' as 'done' });
    expect(await rig.store.webLog.calls('chat-1')).toStrictEqual([{ ...call, state: 'answered' }]);
  });

  it('keeps the latest tool calls in their place, within the size of a page', async () => {
    const { webLog } = rig.store;
    await append('m1', 'one');
    const call = {
      call: 'c1',
      turn: 't1',
      tool: 'terminal',
      input: { command: 'ls' },
      output: '',
      state: 'running',
      after: undefined,
    } as const;
    await webLog.saveCall('chat-1', call);
    await append('m2', 'two');
    await webLog.saveCall('chat-1', { ...call, output: 'a\n', state: 'failed', exitCode: 56 });
    await webLog.saveCall('chat-1', { ...call, turn: 't2', after: 2 });
    await webLog.saveCall('chat-2', { ...call, input: { path: 'a', content: 'x'.repeat(1_000_000) }, output: 'y'.repeat(1_000_000) });
    const again = (await rig.open()).webLog;
    expect(await again.calls('chat-1')).toStrictEqual([
      { ...call, output: 'a\n', state: 'failed', exitCode: 56, after: 1 },
      { ...call, turn: 't2', after: 2 },
    ]);
    expect(JSON.stringify(await again.calls('chat-2')).length).toBeLessThan(40_000);
    await webLog.prune(at(1));
    expect((await again.calls('chat-1')).length).toBe(2);
    expect(await again.calls('chat-2')).toEqual([]);
    for (let count = 0; count < 100; count++) await webLog.saveCall('chat-1', { ...call, call: `n${count}` });
    const kept = (await again.calls('chat-1')).map((one) => one.call);
    expect([kept.length <= 60, kept.at(-1)]).toEqual([true, 'n99']);
  });

  it('appends a message once under one id', async () => {
    const first = await append('m1', 'first');
    expect(await append('m1', 'again')).toStrictEqual(first);
    expect(texts(await rig.store.webLog.after('chat-1', 0, 10))).toEqual(['first']);
  });

  it('returns the messages that are new or edited since a number', async () => {
    await append('m1', 'one');
    await append('m2', 'two');
    await append('m3', 'three');
    for (const text of ['two, ', 'two, and', 'two, and more']) await rig.store.webLog.edit('chat-1', 'm2', { text, buttons: [] }, at(9));
    expect(texts(await rig.store.webLog.after('chat-1', 1, 10))).toEqual(['three', 'two, and more']);
    const [changed] = await rig.store.webLog.after('chat-1', 3, 10);
    expect(changed).toMatchObject({ id: 'm2', seq: 6, position: 2, editedAt: at(9) });
    expect(await rig.store.webLog.after('chat-1', 6, 10)).toEqual([]);
    expect(texts(await rig.store.webLog.after('chat-1', 0, 2))).toEqual(['one', 'three']);
  });

  it('ignores an edit that changes nothing', async () => {
    const first = await append('m1', 'one');
    expect(await rig.store.webLog.edit('chat-1', 'm1', { text: 'one', buttons: [] }, at(9))).toStrictEqual(first);
    expect(await rig.store.webLog.after('chat-1', 1, 10)).toEqual([]);
  });

  it('pages back in the order of sending, even after edits', async () => {
    for (const id of ['a', 'b', 'c', 'd', 'e']) await append(id, id);
    await rig.store.webLog.edit('chat-1', 'a', { text: 'A', buttons: [] }, at(2));
    const last = await rig.store.webLog.page('chat-1', undefined, 2);
    expect({ ...last, messages: texts(last.messages) }).toEqual({ messages: ['d', 'e'], seq: 6, hasMore: true });
    const rest = await rig.store.webLog.page('chat-1', last.messages[0]?.position, 3);
    expect({ ...rest, messages: texts(rest.messages) }).toEqual({ messages: ['A', 'b', 'c'], seq: 6, hasMore: false });
  });

  it('edits only messages of the agent and keeps their files', async () => {
    await append('theirs', 'mine', 1, 'person');
    expect(await rig.store.webLog.edit('chat-1', 'theirs', { text: 'changed', buttons: [] }, at(2))).toBeUndefined();
    expect(await rig.store.webLog.edit('chat-1', 'none', { text: 'changed', buttons: [] }, at(2))).toBeUndefined();
    const files = [{ id: 'f1', name: 'a', mimeType: 'text/plain', bytes: 1 }];
    await rig.store.webLog.append('chat-1', { id: 'ours', author: 'us', ...said('see', { files }) }, at(3));
    expect(await rig.store.webLog.edit('chat-1', 'ours', { text: 'see here', buttons: [] }, at(4))).toMatchObject({
      text: 'see here',
      files,
    });
  });

  it('numbers messages within each chat, and refuses an unknown chat', async () => {
    await rig.store.webLog.createChat({ ...chat, id: 'chat-2' });
    await append('m1', 'one');
    expect(await rig.store.webLog.append('chat-2', { id: 'm1', author: 'us', ...said('other') }, at(2))).toMatchObject({
      seq: 1,
      text: 'other',
    });
    expect(await rig.store.webLog.append('nowhere', { id: 'm1', author: 'us', ...said('lost') }, at(2))).toBeUndefined();
    expect(texts(await rig.store.webLog.after('nowhere', 0, 10))).toEqual([]);
  });

  it('lists the chats of one person by last activity, with their first title', async () => {
    await rig.store.webLog.createChat({ ...chat, id: 'chat-2', lastActiveAt: at(1) });
    await rig.store.webLog.createChat({ ...chat, id: 'chat-3', person: 'somebody else' });
    await rig.store.webLog.append('chat-1', { id: 'm1', author: 'person', ...said('hello') }, at(2), 'hello');
    await rig.store.webLog.append('chat-1', { id: 'm2', author: 'person', ...said('more') }, at(3), 'more');
    const { chats } = await rig.store.webLog.chats('owner', { limit: 10 });
    expect(chats.map(({ id, title }) => ({ id, title }))).toEqual([
      { id: 'chat-1', title: 'hello' },
      { id: 'chat-2', title: '' },
    ]);
  });

  /** Many at the same time, so that the time alone tells no place. */
  const createChats = async (count: number, titleOf: (index: number) => string): Promise<void> => {
    for (let index = 0; index < count; index++) {
      const id = `many-${String(index).padStart(6, '0')}`;
      await rig.store.webLog.createChat({ ...chat, id, title: titleOf(index), lastActiveAt: at(10 + Math.floor(index / 7)) });
    }
  };

  it('lists all chats page by page, each once, also when one of them moves to the top meanwhile', async () => {
    await createChats(250, (index) => `chat ${index}`);
    const seen: string[] = [];
    let after: ChatPlace | undefined;
    do {
      const page = await rig.store.webLog.chats('owner', { limit: 40, after });
      seen.push(...page.chats.map(({ id }) => id));
      if (seen.length === 40) await rig.store.webLog.append(seen[0] ?? '', { id: 'm1', author: 'us', ...said('new') }, at(9000));
      after = page.next;
    } while (after);
    expect(seen.length).toBe(251);
    expect(new Set(seen).size).toBe(251);
    expect(seen.at(-1)).toBe('chat-1');
    const { chats, next } = await rig.store.webLog.chats('owner', { limit: 251 });
    expect([chats.length, next]).toEqual([251, undefined]);
  });

  it('finds chats by words of their title, in any order and case, and takes no sign for a wildcard', async () => {
    const titles = ['Über den Fluß nach Köln', '100% of the_budget', 'the budget of 100', 'a[b]c*', 'ﬁle \\ path'];
    await createChats(titles.length, (index) => titles[index] ?? '');
    await rig.store.webLog.createChat({ ...chat, id: 'of-another', person: 'somebody else', title: 'the budget' });
    const find = async (search: string) =>
      (await rig.store.webLog.chats('owner', { limit: 10, search })).chats.map(({ title }) => title).sort();
    expect(await find('köln über')).toEqual(['Über den Fluß nach Köln']);
    expect(await find('BUDGET')).toEqual(['100% of the_budget', 'the budget of 100']);
    expect(await find('100%')).toEqual(['100% of the_budget']);
    expect(await find('e_b')).toEqual(['100% of the_budget']);
    expect(await find('[b]c*')).toEqual(['a[b]c*']);
    expect(await find('file \\')).toEqual(['ﬁle \\ path']);
    expect(await find("' or 1=1 --")).toEqual([]);
  });

  it('searches many chats in portions between which other work has its turn, and goes on where one page ends', async () => {
    await createChats(3000, (index) => (index % 1000 === 0 ? `rare ${index}` : `chat ${index}`));
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const first = await rig.store.webLog.chats('owner', { limit: 2, search: 'rare' });
    isOver = true;
    expect(turns).toBeGreaterThan(4);
    expect(first.chats.map(({ title }) => title)).toEqual(['rare 2000', 'rare 1000']);
    const second = await rig.store.webLog.chats('owner', { limit: 2, search: 'rare', after: first.next });
    expect([second.chats.map(({ title }) => title), second.next]).toEqual([['rare 0'], undefined]);
  });

  it('remembers a message of a person until it was accepted', async () => {
    await append('m1', 'one', 1, 'person');
    await append('m2', 'two', 2, 'person');
    await append('m3', 'ours', 3, 'us');
    expect(await rig.store.webLog.isWaiting('chat-1', 'm1')).toBe(true);
    await rig.store.webLog.accepted('chat-1', 'm1');
    expect(await rig.store.webLog.isWaiting('chat-1', 'm1')).toBe(false);
    expect(await rig.store.webLog.isWaiting('chat-1', 'm3')).toBe(false);
    await rig.store.close();
    const again = await rig.open();
    const waiting = await again.webLog.unaccepted();
    expect(waiting.map(({ chat: { id }, message: { text } }) => [id, text])).toEqual([['chat-1', 'two']]);
  });

  it('keeps files byte by byte and prunes only files without a message', async () => {
    const data = Uint8Array.from({ length: 300 }, (_, index) => index % 256);
    for (const id of ['kept', 'loose']) {
      await rig.store.webLog.addFile('chat-1', { id, name: `${id}.bin`, mimeType: 'application/octet-stream', bytes: 300 }, data, at(1));
    }
    const files = [{ id: 'kept', name: 'kept.bin', mimeType: 'application/octet-stream', bytes: 300 }];
    await rig.store.webLog.append('chat-1', { id: 'm1', author: 'person', ...said('', { files }) }, at(2));
    await rig.store.webLog.pruneFiles(at(3));
    expect(Buffer.from((await rig.store.webLog.fileData('kept')) ?? [])).toEqual(Buffer.from(data));
    expect(await rig.store.webLog.file('kept')).toEqual({ chat: 'chat-1', ...files[0] });
    expect(await rig.store.webLog.fileData('loose')).toBeUndefined();
  });

  it('gives every change a number of its own when several processes write at once', async () => {
    const logs = [rig.store.webLog, (await rig.open()).webLog];
    const ids = Array.from({ length: 10 }, (_, index) => `m${index}`);
    await Promise.all(ids.map((id, index) => logs[index % 2]?.append('chat-1', { id, author: 'us', ...said(id) }, at(1))));
    const seqs = (await rig.store.webLog.after('chat-1', 0, 100)).map(({ seq }) => seq);
    expect(seqs).toEqual(Array.from({ length: 10 }, (_, index) => index + 1));
  });
}
