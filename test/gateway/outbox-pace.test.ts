import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Channel, RateLimit, Saying } from '../../src/core/channel.ts';
import type { Store } from '../../src/core/store.ts';
import { LiveMessage } from '../../src/gateway/outbox/live-message.ts';
import { Outbox } from '../../src/gateway/outbox/outbox.ts';
import { openStore } from '../../src/stores/index.ts';
import { scratchPaths } from '../stores/scratch.ts';
import { until } from '../until.ts';
import { chat, FakePlatform, fakeChannel } from './fake-channel.ts';

const newPath = scratchPaths();
const people = Array.from({ length: 20 }, (_, index) => `person ${index}`);
const everyMs = 10;

describe('an outbox at a platform with limits', () => {
  let store: Store;
  let platform: FakePlatform;
  let outbox: Outbox;
  /** Of these one is taken, and then no more. */
  let closing: readonly Saying[];

  beforeEach(async () => {
    store = await openStore(newPath());
    platform = new FakePlatform();
    closing = [];
    const shut: RateLimit = { of: 'shut', everyMs: 3_600_000, burst: 1 };
    const limits: Channel['limits'] = (_place, saying) => [{ of: 'all', everyMs, burst: 1 }, ...(closing.includes(saying) ? [shut] : [])];
    const channels = new Map([['fake', { ...fakeChannel(platform), limits }]]);
    outbox = new Outbox({ ledger: store.outbox, channels, times: { firstRetryMs: 2, maxRetryMs: 20, lookEveryMs: 10 } });
    await outbox.start();
  });
  afterEach(async () => {
    await outbox.stop(0);
    await store.close();
  });

  const live = (name: string) =>
    new LiveMessage(outbox, chat(name), `answer to ${name}`, { lookEveryMs: 5, lookEveryMsPerChat: 0, firstAfterMs: 1 });
  const isEmpty = async () => (await store.outbox.places()).length === 0;
  const allSaid = () => until('everything is said', isEmpty);

  it('sends the last texts of answers before it changes others that still grow', async () => {
    const growing = people.map(live);
    for (const one of growing) one.push('The beginning');
    await until('all have begun', () => platform.messages.length === people.length);
    for (const one of growing) one.push(' and more of it');
    const half = people.length / 2;
    const ended = platform.requests.length;
    await Promise.all(growing.slice(0, half).map((one) => one.finish('The whole text.')));
    // Those that grow go on growing.
    for (const one of growing.slice(half)) one.push(', more,');
    await allSaid();
    const after = platform.requests.slice(ended).map(({ text }) => text);
    const whole = after.flatMap((text, index) => (text === 'The whole text.' ? [index] : []));
    expect(whole).toHaveLength(half);
    // What the platform had in hand when they ended, and what it takes while they are written down.
    const others = after.slice(0, whole.at(-1)).filter((text) => text !== 'The whole text.');
    expect(others.length).toBeLessThan(half);
    for (const name of people.slice(0, half)) expect(platform.texts(name)).toEqual(['The whole text.']);
    await Promise.all(growing.slice(half).map((one) => one.finish('The end.')));
  });

  it('sends a text once that is finished before its beginning could be shown', async () => {
    closing = ['draft'];
    live('bob').push('The beginning');
    await until('one is taken', () => platform.texts('bob').length === 1);
    const one = live('ada');
    one.push('The beginning');
    await until('the draft waits', async () => !(await isEmpty()));
    await one.finish('The whole text.');
    await until('it is there', () => platform.texts('ada').length === 1);
    expect(platform.requests.filter(({ chat: name }) => name === 'ada').map(({ text }) => text)).toEqual(['The whole text.']);
  });

  it('sends a message to a place whose text waits to be changed', async () => {
    const one = live('ada');
    one.push('The beginning');
    await until('it is shown', () => platform.texts('ada').length === 1);
    closing = ['growth'];
    one.push(' and more');
    await until('one is taken', () => platform.texts('ada')[0] === 'The beginning and more');
    one.push(' that waits');
    await outbox.deliver(chat('ada'), 'other', 'By the way.');
    await until('it is there', () => platform.texts('ada').length === 2);
    await one.finish('The whole text.');
    await allSaid();
    expect(platform.texts('ada')).toEqual(['The whole text.', 'By the way.']);
  });

  const shown = (name: string, count = 1) => until(`${name} has ${count}`, () => platform.texts(name).length === count);
  const draft = (name: string, key: string) => outbox.add(chat(name), [{ key, message: { text: 'Running sleep' }, isDraft: true }]);
  const buttons = [[{ label: 'Once', data: 'q:1' }]];

  it('asks a question at once in a chat whose draft waits', async () => {
    closing = ['draft'];
    await draft('bob', 'first');
    await shown('bob');
    await draft('ada', 'status');
    await until('the draft waits', async () => (await store.outbox.head(chat('ada'))) !== undefined);
    await outbox.deliver(chat('ada'), 'question', 'May I run rm?', { buttons });
    await shown('ada', 2);
    expect(platform.texts('ada')).toEqual(['Running sleep', 'May I run rm?']);
  });

  it('sends what another process adds to a chat whose text waits to be changed', async () => {
    const one = live('ada');
    one.push('The beginning');
    await shown('ada');
    closing = ['growth'];
    one.push(' and more');
    await until('one is taken', () => platform.texts('ada')[0] === 'The beginning and more');
    one.push(' that waits');
    await store.outbox.add(chat('ada'), [{ key: 'other', message: { text: 'By the way.' } }], new Date());
    await shown('ada', 2);
    await one.finish('The whole text.');
    await allSaid();
  });

  it('asks a question that another process adds to a chat whose draft waits', async () => {
    closing = ['draft'];
    await draft('bob', 'first');
    await shown('bob');
    await draft('ada', 'status');
    await until('the draft waits', async () => (await store.outbox.head(chat('ada'))) !== undefined);
    await store.outbox.add(chat('ada'), [{ key: 'question', message: { text: 'May I run rm?', buttons } }], new Date());
    await shown('ada', 2);
  });

  it('asks a question at once in a chat whose draft waits, also when the ledger could not be read for a moment', async () => {
    closing = ['draft'];
    await draft('bob', 'first');
    await shown('bob');
    const read = vi.spyOn(store.outbox, 'headOfLasting').mockRejectedValueOnce(new Error('the database is locked'));
    await outbox.add(chat('ada'), [
      { key: 'status', message: { text: 'Running sleep' }, isDraft: true },
      { key: 'question', message: { text: 'May I run rm?', buttons } },
    ]);
    await shown('ada', 2);
    expect(read.mock.settledResults[0]?.type).toBe('rejected');
  });

  it('waits at places that the platform names as refused, and nowhere else', async () => {
    const flooded = ['bob', 'cid', 'dan', 'eve'];
    platform.whim = (request) => (flooded.includes(request.chat) ? { busy: 3_600_000, isOfPlace: true } : 'fine');
    for (const name of flooded) await outbox.deliver(chat(name), name, 'Hello.');
    await until('all were refused', () => platform.requests.length === flooded.length);
    await outbox.deliver(chat('ada'), 'question', 'May I run rm?', { buttons });
    await shown('ada');
  });

  it('leaves no trace of a draft that was never sent and turned out not to be needed', async () => {
    closing = ['draft'];
    await draft('bob', 'first');
    await shown('bob');
    const text = live('ada');
    text.push('word '.repeat(30));
    await until('two drafts wait', async () => (await store.outbox.find('answer to ada/draft/2'))?.state === 'waiting');
    closing = [];
    text.restart();
    await text.finish('Short.');
    await allSaid();
    expect(platform.texts('ada')).toEqual(['Short.']);
  });

  it('asks a question before drafts that wait, at a platform that answers slowly', async () => {
    const slow = Promise.withResolvers<void>();
    platform.whim = () => ({ until: slow.promise });
    for (const name of people) await draft(name, name);
    await until('many are under way', () => platform.requests.length > 0 && platform.requests.length < people.length);
    await outbox.deliver(chat('ada'), 'question', 'May I run rm?', { buttons });
    await until('it is asked', () => platform.requests.some(({ chat: name }) => name === 'ada'));
    expect(platform.requests.length).toBeLessThan(people.length);
    slow.resolve();
    await allSaid();
  });

  it('takes no turn for the removal of what was never sent', async () => {
    closing = ['draft'];
    await draft('bob', 'first');
    await shown('bob');
    await draft('ada', 'status');
    closing = ['draft', 'message', 'change'];
    await outbox.deliver(chat('bob'), 'second', 'Hello.');
    await outbox.add(chat('ada'), [{ key: 'end', message: { text: '' }, replaces: 'status', isRemoval: true }]);
    await until('it is gone', async () => (await store.outbox.find('end'))?.state === 'sent');
    expect(platform.texts('ada')).toEqual([]);
  });

  it('asks a platform that refuses everything a few times, and not for each chat', async () => {
    let isClosed = true;
    platform.whim = () => (isClosed ? { busy: 1000 } : 'fine');
    for (const name of people) await outbox.deliver(chat(name), name, 'Hello.');
    await until('it has refused', () => platform.requests.length >= 3);
    isClosed = false;
    const refusedAt = platform.requests.length;
    await shown(people.at(-1) ?? '');
    await allSaid();
    expect(refusedAt).toBeLessThan(people.length);
    expect(platform.requests).toHaveLength(refusedAt + people.length);
  });

  it('stops soon while only a draft waits', async () => {
    closing = ['draft'];
    await draft('bob', 'first');
    await shown('bob');
    await draft('ada', 'status');
    await outbox.stop(3_600_000);
    expect(platform.texts('ada')).toEqual([]);
  });

  it('stops at once while a message waits for its turn, which is then in no doubt', async () => {
    closing = ['message'];
    await outbox.deliver(chat('bob'), 'one', 'Hello.');
    await until('one is taken', () => platform.texts('bob').length === 1);
    await outbox.deliver(chat('ada'), 'two', 'Hello.');
    await outbox.stop(0);
    expect(platform.texts('ada')).toEqual([]);
    expect(await store.outbox.head(chat('ada'))).toMatchObject({ state: 'waiting', attempts: 0, doubts: 0 });
  });
});
