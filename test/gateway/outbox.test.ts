import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Channel } from '../../src/core/channel.ts';
import type { Store } from '../../src/core/store.ts';
import { Outbox, type OutboxOptions } from '../../src/gateway/outbox/outbox.ts';
import { openStore } from '../../src/stores/index.ts';
import { scratchPaths } from '../stores/scratch.ts';
import { until } from '../until.ts';
import { chat, FakePlatform, fakeChannel, type PlatformRequest, type Whim } from './fake-channel.ts';

const newPath = scratchPaths();
const unknown = 'It is not known whether an earlier message arrived.';
const times = { firstRetryMs: 2, maxRetryMs: 20, lookEveryMs: 10 };
const mark = '(possible repeat)\n\n';
const numbers = (count: number) => Array.from({ length: count }, (_, index) => `${index}`);

describe('the outbox', () => {
  let path: string;
  let store: Store;
  let platform: FakePlatform;
  let channels: Map<string, Channel>;
  let dropped: string[];
  const running: Outbox[] = [];

  beforeEach(async () => {
    path = newPath();
    store = await openStore(path);
    platform = new FakePlatform();
    channels = new Map([['fake', fakeChannel(platform)]]);
    dropped = [];
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((outbox) => outbox.stop(0)));
    await store.close();
  });

  function make(more: Partial<OutboxOptions> = {}): Outbox {
    const onDropped: OutboxOptions['onDropped'] = (entry, failure) => dropped.push(`${entry.key}: ${failure}`);
    const outbox = new Outbox({ ledger: store.outbox, channels, onDropped, ...more, times: { ...times, ...more.times } });
    running.push(outbox);
    return outbox;
  }
  async function started(more?: Partial<OutboxOptions>): Promise<Outbox> {
    const outbox = make(more);
    await outbox.start();
    return outbox;
  }
  const isEmpty = async () => (await store.outbox.places()).length === 0;
  const allSaid = () => until('everything is said', isEmpty);

  describe('order', () => {
    it('keeps the order at each place while the platform is busy', async () => {
      let count = 0;
      platform.whim = () => (++count % 3 === 0 ? { busy: 3 } : 'fine');
      const outbox = await started();
      await Promise.all(
        ['a', 'b', 'c'].map(async (name) => {
          for (const text of numbers(12)) await outbox.deliver(chat(name), `${name}-${text}`, text);
        }),
      );
      await allSaid();
      for (const name of ['a', 'b', 'c']) expect(platform.texts(name)).toEqual(numbers(12));
    });

    it('a slow place does not delay another', async () => {
      const gate = Promise.withResolvers<void>();
      platform.whim = ({ chat: name }) => (name === 'slow' ? { until: gate.promise } : 'fine');
      const outbox = await started();
      await outbox.deliver(chat('slow'), 'a', 'late');
      for (const text of numbers(5)) await outbox.deliver(chat('fast'), `b${text}`, text);
      await until('the fast one is done', () => platform.texts('fast').length === 5);
      expect(platform.texts('slow')).toEqual([]);
      gate.resolve();
      await allSaid();
    });

    it('sends no more messages at once than a platform takes, and marks none of the waiting ones as repeats', async () => {
      const gate = Promise.withResolvers<void>();
      platform.whim = () => ({ until: gate.promise });
      const outbox = await started();
      const names = numbers(200);
      for (const name of names) await outbox.deliver(chat(name), name, 'text');
      await until('a message is on its way', () => platform.requests.length > 0);
      await outbox.stop(0);
      const begun = new Set(platform.requests.map((request) => request.chat));
      gate.resolve();
      platform.whim = () => 'fine';
      await started();
      await allSaid();
      const marked = names.filter((name) => platform.texts(name).some((text) => text.startsWith(mark)));
      expect(marked.filter((name) => !begun.has(name))).toEqual([]);
      expect(begun.size).toBeLessThan(50);
    });

    it('a busy thread delays neither its chat nor another workspace', async () => {
      platform.whim = ({ text }) => (text === 'thread' ? { busy: 60_000 } : 'fine');
      const outbox = await started();
      await outbox.deliver({ ...chat('a'), thread: '1' }, 'a', 'thread');
      await outbox.deliver({ ...chat('a'), workspace: '1' }, 'b', 'workspace');
      await outbox.deliver(chat('a'), 'c', 'chat');
      await until('two are said', () => platform.messages.length === 2);
    });
  });

  describe('failures', () => {
    it('waits as long as a busy platform asks', async () => {
      let first = true;
      platform.whim = () => {
        const whim: Whim = first ? { busy: 150 } : 'fine';
        first = false;
        return whim;
      };
      const outbox = await started();
      await outbox.deliver(chat('a'), 'k', 'text');
      await allSaid();
      const [one, two] = platform.requests as [PlatformRequest, PlatformRequest];
      expect(two.at - one.at).toBeGreaterThanOrEqual(145);
      expect(await store.outbox.find('k/1')).toMatchObject({ state: 'sent', attempts: 2, sentId: 'm1', failure: undefined });
    });

    it('drops a refused message and sends the next one', async () => {
      platform.whim = ({ text }) => (text === 'bad' ? 'refused' : 'fine');
      const outbox = await started();
      await outbox.deliver(chat('a'), 'k', 'bad');
      await outbox.deliver(chat('a'), 'l', 'good');
      await allSaid();
      expect(platform.texts('a')).toEqual(['good', 'A message could not be sent here: The bot was removed from the chat.']);
      expect(platform.requests).toHaveLength(3);
      expect(dropped).toEqual(['k/1: The bot was removed from the chat.']);
      expect(await store.outbox.find('k/1')).toMatchObject({ state: 'dropped', failure: 'The bot was removed from the chat.' });
    });

    it('tries a message of unknown arrival three more times, and then drops it', async () => {
      platform.whim = ({ text }) => (text.endsWith('cursed') ? 'cut-after' : 'fine');
      const outbox = await started();
      await outbox.deliver(chat('a'), 'k', 'cursed');
      await outbox.deliver(chat('a'), 'l', 'next');
      await allSaid();
      expect(platform.texts('a')).toEqual(['cursed', ...Array.from({ length: 3 }, () => `${mark}cursed`), 'next', unknown]);
      expect(dropped).toEqual(['k/1: It is unknown whether it arrived.']);
    });

    it.each([1, 3])('loses no message when the connection is cut %i times in a row', async (times) => {
      let cuts = times;
      platform.whim = () => (cuts-- > 0 ? 'cut' : 'fine');
      const outbox = await started();
      await outbox.deliver(chat('a'), 'k', 'text');
      await allSaid();
      expect(platform.texts('a')).toEqual([`${mark}text`]);
    });

    it('drops a message that the platform never answers, and sends the next one', async () => {
      platform.whim = ({ text }) => (text.endsWith('lost') ? { until: new Promise(() => undefined) } : 'fine');
      const outbox = await started({ times: { answerMs: 20 } });
      await outbox.deliver(chat('a'), 'k', 'lost');
      await outbox.deliver(chat('a'), 'l', 'next');
      await allSaid();
      expect(platform.requests.map(({ text }) => text)).toEqual([
        'lost',
        ...Array.from({ length: 3 }, () => `${mark}lost`),
        'next',
        unknown,
      ]);
    });

    it('shows the chat only what a platform itself says of a message that is dropped', async () => {
      platform.whim = ({ text }) => (text.endsWith('text') ? { busy: 1 } : 'fine');
      const outbox = await started({ times: { keepTryingMs: 30 } });
      await outbox.deliver(chat('a'), 'k', 'text');
      await allSaid();
      // Other errors may name addresses and tokens.
      expect(platform.texts('a')).toEqual(['A message could not be sent here: the platform did not take it in time.']);
    });

    it('drops a message after failing for too long', async () => {
      platform.whim = () => ({ busy: 1 });
      const outbox = await started({ times: { keepTryingMs: 30 } });
      await outbox.deliver(chat('a'), 'k', 'text');
      await allSaid();
      // It is told a moment after it was written down.
      await until('it is told', () => dropped.length > 1);
      expect(dropped).toEqual(['k/1: Too Many Requests', 'dropped/k/1: Too Many Requests']);
    });

    it('does not send a message again when recording its arrival fails', async () => {
      let failures = 3;
      const ledger = new Proxy(store.outbox, {
        get(target, name: keyof typeof store.outbox) {
          const method = target[name].bind(target) as (...args: unknown[]) => unknown;
          return (...args: unknown[]) =>
            name === 'sent' && failures-- > 0 ? Promise.reject(new Error('the disk is full')) : method(...args);
        },
      });
      const troubles: unknown[] = [];
      const outbox = await started({ ledger, onTrouble: (error) => troubles.push(error) });
      await outbox.deliver(chat('a'), 'k', 'text');
      await until('it is sent', async () => (await store.outbox.find('k/1'))?.state === 'sent');
      expect(platform.texts('a')).toEqual(['text']);
      expect(troubles).toHaveLength(3);
    });
  });

  describe('texts', () => {
    it('sends a text once however often it is delivered under one key', async () => {
      const outbox = await started();
      await Promise.all(numbers(5).map(() => outbox.deliver(chat('a'), 'k', 'text')));
      await allSaid();
      await outbox.deliver(chat('a'), 'k', 'text');
      await allSaid();
      expect(platform.texts('a')).toEqual(['text']);
    });

    it('splits a long text, with the reply on the first piece and the buttons on the last', async () => {
      const outbox = await started();
      const text = `\`\`\`sh\n${'echo some words\n'.repeat(20)}\`\`\``;
      const buttons = [[{ label: 'Yes', data: 'y' }]];
      await outbox.deliver(chat('a'), 'k', text, { replyTo: 'm0', buttons });
      await allSaid();
      const said = platform.messages;
      expect(said.length).toBeGreaterThan(3);
      expect(said.every((message) => message.text.startsWith('```sh\n') && message.text.endsWith('\n```'))).toBe(true);
      expect(said.map((message) => message.replyTo)).toEqual(['m0', ...said.slice(1).map(() => undefined)]);
      expect(said.map((message) => message.buttons)).toEqual([...said.slice(1).map(() => undefined), buttons]);
      expect(await store.outbox.find(`k/${said.length}`)).toMatchObject({ sentId: said.at(-1)?.id });
    });

    it('sends a text as the caption of its file where it is short enough', async () => {
      channels.set('fake', fakeChannel(platform, { maxCaptionLength: 29 }));
      const outbox = await started();
      const file = { name: 'a.bin', data: new Uint8Array([0, 255, 10]) };
      await outbox.deliver(chat('a'), 'k', 'short', { file });
      await outbox.deliver(chat('a'), 'l', 'not that short', { file });
      await outbox.deliver(chat('a'), 'm', '', { file });
      await allSaid();
      expect(platform.messages.map(({ text, file: sent }) => [text, sent])).toEqual([
        ['short', file],
        ['not that short', undefined],
        ['', file],
        ['', file],
      ]);
    });

    it('sends no blank text', async () => {
      const outbox = await started();
      await outbox.deliver(chat('a'), 'k', ' \n ');
      expect(await isEmpty()).toBe(true);
    });

    it('keeps a text until its platform is connected', async () => {
      const [channel] = channels.values();
      channels.clear();
      const outbox = await started();
      await outbox.deliver(chat('a'), 'k', 'text');
      await outbox.look();
      expect(await store.outbox.find('k/1')).toMatchObject({ state: 'waiting', attempts: 0 });
      channels.set('fake', channel as Channel);
      await allSaid();
      expect(platform.texts('a')).toEqual(['text']);
    });

    it('sends a text that another process added', async () => {
      await started();
      const other = await openStore(path);
      await other.outbox.add(chat('a'), [{ key: 'k', message: { text: 'from elsewhere' } }], new Date());
      await other.close();
      await allSaid();
      expect(platform.texts('a')).toEqual(['from elsewhere']);
    });
  });

  describe('stopping', () => {
    it("sends what it can before the stop's deadline", async () => {
      const outbox = await started();
      for (const text of numbers(20)) await outbox.deliver(chat('a'), text, text);
      await outbox.stop(60_000);
      expect(platform.texts('a')).toEqual(numbers(20));
    });

    it('leaves slow messages at a stop to the next start', async () => {
      platform.whim = ({ text }) => (text === 'stuck' ? { until: new Promise(() => undefined) } : { busy: 60_000 });
      const outbox = await started();
      await outbox.deliver(chat('a'), 'k', 'stuck');
      await outbox.deliver(chat('b'), 'l', 'busy');
      await until('both were tried', () => platform.requests.length === 2);
      await outbox.stop(30);
      expect(await store.outbox.find('k/1')).toMatchObject({ state: 'waiting', doubts: 1 });
      expect(await store.outbox.find('l/1')).toMatchObject({ state: 'waiting', doubts: 0 });
      platform.whim = () => 'fine';
      await outbox.deliver(chat('c'), 'm', 'after the stop');
      await started();
      await until('two are said', () => platform.messages.length === 2);
      expect(platform.texts('a')).toEqual(['(possible repeat)\n\nstuck']);
      expect(platform.texts('c')).toEqual(['after the stop']);
    });
  });

  it('sends everything in order through restarts while the platform is busy half of the time', async () => {
    let count = 0;
    platform.whim = () => (++count % 2 === 0 ? { busy: 1 } : 'fine');
    const places = numbers(10);
    let outbox = await started();
    for (const text of numbers(10)) {
      await Promise.all(places.map((name) => outbox.deliver(chat(name), `${name}-${text}`, text)));
      if (Number(text) % 3 !== 0) continue;
      await outbox.stop(0);
      outbox = await started();
    }
    await allSaid();
    for (const name of places) {
      // What was in flight at a stop may be there twice, and says so.
      const said = platform.texts(name).flatMap((text, index, all) => {
        const plain = text.replace(mark, '');
        return text !== plain && plain === all[index - 1] ? [] : [plain];
      });
      expect(said).toEqual(numbers(10));
    }
    expect(dropped).toEqual([]);
  });

  describe('a killed process', () => {
    /** Says numbers to a platform that is a file, and dies while sending the one it was told to; 0: never. */
    async function run(dieAt: number, when: 'before' | 'after', perKey = ''): Promise<void> {
      const root = join(import.meta.dirname, '../../src');
      const body = `
        const { appendFileSync, readFileSync } = await import('node:fs');
        const { openStore } = await import(${JSON.stringify(join(root, 'stores/index.ts'))});
        const { Outbox } = await import(${JSON.stringify(join(root, 'gateway/outbox/outbox.ts'))});
        const [path, log, dieAt, when, once] = process.argv.slice(1);
        appendFileSync(log, '');
        const die = () => process.kill(process.pid, 'SIGKILL');
        let sends = 0;
        const channel = {
          kind: 'fake', traits: { isOwn: false, maxTextLength: 100, buttons: false, editEveryMs: undefined, maxFileBytes: 0, typing: false, sendsOncePerKey: Boolean(once) },
          async send(place, message) {
            const last = ++sends === Number(dieAt);
            if (last && when === 'before') die();
            if (!(once && readFileSync(log, 'utf8').includes(message.key))) appendFileSync(log, JSON.stringify([message.key, message.text]) + '\\n');
            if (last) die();
            return String(sends);
          },
        };
        const store = await openStore(path);
        const outbox = new Outbox({ ledger: store.outbox, channels: new Map([['fake', channel]]), times: { firstRetryMs: 1 } });
        const place = { platform: 'fake', workspace: undefined, chat: 'a', thread: undefined };
        for (let i = 0; i < 10; i++) await outbox.deliver(place, 'n' + i, String(i));
        await outbox.start();
        while ((await store.outbox.places()).length > 0) await new Promise((resolve) => setTimeout(resolve, 5));
        await outbox.stop(0);
        await store.close();`;
      const log = join(dirname(path), 'said');
      const child = spawn(process.execPath, ['--input-type=module', '-e', body, path, log, String(dieAt), when, perKey], {
        stdio: 'inherit',
      });
      const [code, signal] = await once(child, 'close');
      expect(dieAt === 0 ? code : signal).toBe(dieAt === 0 ? 0 : 'SIGKILL');
    }
    const said = () =>
      readFileSync(join(dirname(path), 'said'), 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => (JSON.parse(line) as string[])[1] ?? '');

    it('a killed process loses nothing, repeats nothing that was answered, and repeats a message in flight at most once', async () => {
      await run(3, 'before');
      await run(3, 'after');
      await run(0, 'after');
      // The first was killed before 2 was there, the second right after 4 was.
      expect(said()).toEqual(numbers(10).flatMap((text) => (text === '2' ? [`${mark}2`] : text === '4' ? ['4', `${mark}4`] : [text])));
    });

    it('two kills before a message arrived do not lose it', async () => {
      await run(1, 'before');
      await run(1, 'before');
      await run(0, 'before');
      expect(said()).toEqual([`${mark}0`, ...numbers(10).slice(1)]);
    });

    it('repeats a message at most three times, however often the process is killed', async () => {
      for (let kill = 0; kill < 4; kill++) await run(1, 'after');
      await run(0, 'after');
      expect(said()).toEqual(['0', `${mark}0`, `${mark}0`, `${mark}0`, ...numbers(10).slice(1), unknown]);
    });

    it('sends everything once, unmarked, through kills where the platform knows the key', async () => {
      for (const when of ['after', 'before', 'after', 'after'] as const) await run(1, when, 'once');
      await run(0, 'after', 'once');
      expect(said()).toEqual(numbers(10));
    });
  });
});
