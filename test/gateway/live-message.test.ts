import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Channel } from '../../src/core/channel.ts';
import type { Store } from '../../src/core/store.ts';
import { LiveMessage } from '../../src/gateway/outbox/live-message.ts';
import { Outbox } from '../../src/gateway/outbox/outbox.ts';
import { openStore } from '../../src/stores/index.ts';
import { scratchPaths } from '../stores/scratch.ts';
import { until } from '../until.ts';
import { chat, FakePlatform, fakeChannel } from './fake-channel.ts';

const newPath = scratchPaths();
const place = chat('a');
const words = (count: number, from = 0) => Array.from({ length: count }, (_, index) => `word${from + index}`).join(' ');

describe('live messages', () => {
  let store: Store;
  let platform: FakePlatform;
  let channels: Map<string, Channel>;
  let outbox: Outbox;

  async function startOutbox(): Promise<void> {
    outbox = new Outbox({ ledger: store.outbox, channels, times: { firstRetryMs: 2, maxRetryMs: 20, lookEveryMs: 10 } });
    await outbox.start();
  }

  beforeEach(async () => {
    store = await openStore(newPath());
    platform = new FakePlatform();
    channels = new Map([['fake', fakeChannel(platform)]]);
    await startOutbox();
  });
  afterEach(async () => {
    await outbox.stop(0);
    await store.close();
  });

  const live = (key: string, at = place, firstAfterMs = 20) =>
    new LiveMessage(outbox, at, key, { lookEveryMs: 5, lookEveryMsPerChat: 0, firstAfterMs });
  const allSaid = () => until('everything is said', async () => (await store.outbox.places()).length === 0);
  const shows = (text: string) => until(`it shows ${text}`, () => platform.texts('a').includes(text));

  it('shows a growing text in one message that ends as the final text', async () => {
    const text = live('k');
    text.push('Let me');
    await shows('Let me');
    text.push(' see');
    await shows('Let me see');
    await text.finish('Let me see. Done.');
    await allSaid();
    expect(platform.texts('a')).toEqual(['Let me see. Done.']);
    expect(platform.messages[0]?.before).toEqual(['Let me', 'Let me see']);
  });

  it('edits no more often than the platform allows', async () => {
    channels.set('fake', fakeChannel(platform, { editEveryMs: 300 }));
    const text = live('k');
    text.push('a');
    await shows('a');
    for (const more of ['b', 'c', 'd']) {
      const { length } = platform.requests;
      text.push(more);
      await until('it was changed', () => platform.requests.length > length);
    }
    await text.finish('end');
    await allSaid();
    const gaps = platform.requests.slice(1).map(({ at }, index) => at - (platform.requests[index]?.at ?? 0));
    expect(gaps).toHaveLength(4);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(295);
  });

  it('sends a text that is finished soon once, without a draft', async () => {
    const text = live('k', place, 600_000);
    text.push('Hello');
    await until('the draft waits', () => store.outbox.find('k/draft/1'));
    await text.finish('Hello there.');
    await allSaid();
    expect(platform.requests.map(({ kind, text }) => [kind, text])).toEqual([['send', 'Hello there.']]);
  });

  it('finishes without another edit when the draft shows the final text already', async () => {
    const text = live('k');
    text.push('All of it.');
    await shows('All of it.');
    await text.finish('All of it.');
    await allSaid();
    expect(platform.requests).toHaveLength(1);
    expect(await outbox.find('k/1')).toMatchObject({ state: 'sent', sentId: 'm1' });
  });

  it('continues in further messages when one is full, with each part once', async () => {
    const text = live('k');
    text.push(words(10));
    await until('there is one', () => platform.messages.length === 1);
    text.push(` ${words(20, 10)}`);
    await until('there are more', () => platform.messages.length >= 3);
    await text.finish(`${words(40)}`);
    await allSaid();
    expect(platform.texts('a').join(' ')).toBe(words(40));
    expect(platform.texts('a').every((text) => text.length <= 100)).toBe(true);
  });

  it('empties the further messages of a longer draft', async () => {
    const text = live('k');
    text.push(words(30));
    await until('there are three', () => platform.messages.length === 3);
    text.restart();
    await text.finish('Short.');
    await until('the others are empty', () => platform.texts('a').join() === 'Short.,…,…');
  });

  it('keeps a live message between the messages before and after it', async () => {
    const gate = Promise.withResolvers<void>();
    platform.whim = ({ text }) => (text === 'before' ? { until: gate.promise } : 'fine');
    await outbox.deliver(place, 'b', 'before');
    const text = live('k');
    text.push('so far');
    await until('the draft waits', () => store.outbox.find('k/draft/1'));
    gate.resolve();
    await shows('so far');
    await outbox.deliver(place, 'c', 'after');
    await text.finish('all of it');
    await allSaid();
    expect(platform.texts('a')).toEqual(['before', 'all of it', 'after']);
  });

  it('sends a text once, when it is finished, where messages cannot be edited', async () => {
    channels.set('fake', fakeChannel(platform, { editEveryMs: undefined }));
    const text = live('k');
    text.push('so far');
    await outbox.deliver(place, 'other', 'other');
    await allSaid();
    await text.finish('all of it', { replyTo: 'm0' });
    await allSaid();
    expect(platform.messages.map(({ text, replyTo }) => [text, replyTo])).toEqual([
      ['other', undefined],
      ['all of it', 'm0'],
    ]);
  });

  it('ends with the final text after edits that the platform was too busy for', async () => {
    let edits = 0;
    platform.whim = ({ kind }) => (kind === 'edit' && ++edits <= 2 ? { busy: 30 } : 'fine');
    const text = live('k');
    text.push('one');
    await shows('one');
    text.push(' two');
    await until('it was tried', () => edits > 0);
    await text.finish('one two three');
    await allSaid();
    expect(platform.texts('a')).toEqual(['one two three']);
  });

  it('sends the missing rest as another message when the platform refuses edits', async () => {
    platform.whim = ({ kind }) => (kind === 'edit' ? 'refused' : 'fine');
    const text = live('k');
    text.push('```ts\none();');
    await shows('```ts\none();');
    await text.finish('```ts\none();\ntwo();\n```');
    await allSaid();
    expect(platform.texts('a')).toEqual(['```ts\none();', '```ts\ntwo();\n```']);
  });

  it('sends the whole text again when the platform refuses edits and the draft differs', async () => {
    platform.whim = ({ kind }) => (kind === 'edit' ? 'refused' : 'fine');
    const text = live('k');
    text.push('a guess');
    await shows('a guess');
    await text.finish('the answer');
    await allSaid();
    expect(platform.texts('a')).toEqual(['a guess', 'the answer']);
  });

  it('repeats an edit, and sends no second message, when its arrival is unknown', async () => {
    let edits = 0;
    platform.whim = ({ kind }) => (kind === 'edit' && ++edits <= 3 ? 'cut-after' : 'fine');
    const text = live('k');
    text.push('so far');
    await shows('so far');
    await text.finish('all of it');
    await allSaid();
    expect(platform.texts('a')).toEqual(['all of it']);
    expect(platform.requests.filter(({ kind }) => kind === 'send')).toHaveLength(1);
  });

  it('sends the rest marked as a possible repeat when every edit fails', async () => {
    platform.whim = ({ kind }) => (kind === 'edit' ? 'cut' : 'fine');
    const text = live('k');
    text.push('so far');
    await shows('so far');
    await text.finish('so far, so good');
    await allSaid();
    expect(platform.texts('a')).toEqual(['so far', '(possible repeat)\n\n, so good']);
  });

  it('the final text waits for a slow edit of the draft', async () => {
    const gate = Promise.withResolvers<void>();
    platform.whim = ({ text }) => (text === 'so far so good' ? { until: gate.promise } : 'fine');
    const text = live('k');
    text.push('so far');
    await shows('so far');
    text.push(' so good');
    await until('the change is under way', () => platform.requests.length === 2);
    await text.finish('all of it');
    expect(await outbox.find('k/1')).toMatchObject({ state: 'waiting' });
    gate.resolve();
    await allSaid();
    expect(platform.texts('a')).toEqual(['all of it']);
  });

  it('adds buttons and file at the end', async () => {
    const buttons = [[{ label: 'Yes', data: 'y' }]];
    const file = { name: 'a.txt', data: new Uint8Array([1]) };
    const text = live('k');
    text.push('text');
    await shows('text');
    await text.finish('text', { file, buttons });
    await allSaid();
    expect(platform.messages.map(({ text, file: sent, buttons: shown }) => [text, sent, shown])).toEqual([
      ['text', undefined, undefined],
      ['', file, buttons],
    ]);
  });

  it('finishing with an empty text keeps the shown draft, and sends no unsent one', async () => {
    const text = live('k');
    text.push('so far');
    await shows('so far');
    await text.finish('');
    const unseen = live('l', chat('b'), 600_000);
    unseen.push('never');
    await until('the draft waits', () => store.outbox.find('l/draft/1'));
    await unseen.finish('');
    await allSaid();
    expect(platform.messages.map(({ text }) => text)).toEqual(['so far']);
  });

  it('marks the final text as a possible repeat when its draft may have arrived and cannot be edited', async () => {
    platform.whim = ({ text }) => (text === 'so far' ? 'cut-after' : 'fine');
    const text = live('k');
    text.push('so far');
    await shows('so far');
    await until('the draft is given up', async () => (await store.outbox.find('k/draft/1'))?.state === 'dropped');
    await text.finish('so far, so good');
    await allSaid();
    expect(platform.texts('a')).toEqual(['so far', '(possible repeat)\n\nso far, so good']);
  });

  it('replaces a draft that may have arrived, where the platform knows its key', async () => {
    channels.set('fake', fakeChannel(platform, { sendsOncePerKey: true }));
    platform.whim = ({ text }) => (text === 'so far' && platform.requests.length === 1 ? 'cut-after' : 'fine');
    const text = live('k');
    text.push('so far');
    await shows('so far');
    await until('the draft is given up', async () => (await store.outbox.find('k/draft/1'))?.state === 'dropped');
    await text.finish('so far, so good');
    await allSaid();
    expect(platform.texts('a')).toEqual(['so far, so good']);
  });

  describe('a restart', () => {
    it('finishes a live message in the next process, in the same message', async () => {
      const text = live('k');
      text.push('so far');
      await shows('so far');
      await outbox.stop(0);
      await startOutbox();
      await live('k').finish('I was interrupted.');
      await allSaid();
      expect(platform.texts('a')).toEqual(['I was interrupted.']);
    });

    it('sends the final text after a restart when only the ledger had it', async () => {
      const text = live('k');
      text.push('so far');
      await shows('so far');
      platform.whim = () => ({ busy: 50 });
      await text.finish('all of it');
      await outbox.stop(0);
      platform.whim = () => 'fine';
      await startOutbox();
      await allSaid();
      expect(platform.texts('a')).toEqual(['all of it']);
    });

    it('shows no unsent draft after a restart, and keeps a final text when the message is begun again', async () => {
      platform.whim = () => ({ busy: 60_000 });
      const unseen = live('l', chat('b'));
      unseen.push('never');
      await until('it was tried', () => platform.requests.length > 0);
      platform.whim = () => 'fine';
      const text = live('k');
      text.push('so far');
      await shows('so far');
      await text.finish('all of it');
      await allSaidAt('a');
      await outbox.stop(0);
      await startOutbox();
      const again = live('k');
      const add = vi.spyOn(outbox, 'add');
      again.push('so f');
      await until('it tried to show a draft', async () => (await Promise.all(add.mock.results.map(({ value }) => value))).includes(false));
      again.push('ar');
      await outbox.deliver(place, 'next', 'next');
      await shows('next');
      await again.finish('all of it');
      await allSaid();
      expect(platform.texts('a')).toEqual(['all of it', 'next']);
      expect(platform.texts('b')).toEqual([]);
    });
  });

  const allSaidAt = (name: string) => until(`all is said in ${name}`, async () => !(await store.outbox.head(chat(name))));
});
