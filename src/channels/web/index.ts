import { randomUUID } from 'node:crypto';
import {
  type Accept,
  type Activity,
  type Channel,
  type ChannelState,
  type ChannelTraits,
  type IncomingFile,
  type IncomingPress,
  maxCarriedBytes,
  type Outgoing,
  type Person,
  type Place,
} from '../../core/channel.ts';
import { HermeticError } from '../../core/errors.ts';
import type { WebChat, WebChats, WebEvent, WebFile, WebLog, WebMessage } from '../../core/web-log.ts';
import { digestOf } from '../../lib/canonical-json.ts';
import { settlesWithin } from '../../lib/deadline.ts';
import { guessType } from '../../lib/file-type.ts';
import { Lanes } from '../../lib/lanes.ts';
import { plainName } from '../../lib/plain-name.ts';
import { printable } from '../../lib/printable.ts';
import { CallMemory } from './call-memory.ts';
import { LiveChat, unfinished } from './live-chat.ts';
import { chatsOf } from './person-chats.ts';

const kind = 'web';

const maxLiveChats = 500;
const batch = 50;
/** How long `stop` waits for messages that are being accepted; the rest is accepted at the next start. */
const stopDeadlineMs = 2000;
/** A file that was sent up and that no message names. */
const looseFilesLastMs = 24 * 60 * 60 * 1000;

/** Sent by a person, before it is a message. */
export interface TypedMessage {
  chat: string;
  person: Person;
  id: string;
  text: string;
  files: readonly string[];
  replyTo: string | undefined;
}

/** The chats of the web page. They are all here: what was said is in the log, and the platform is this process. */
export class WebChannel implements Channel {
  readonly kind = kind;
  readonly traits: ChannelTraits = {
    isOwn: true,
    maxTextLength: 60_000,
    buttons: true,
    editEveryMs: 150,
    maxFileBytes: maxCarriedBytes,
    typing: true,
    sendsOncePerKey: true,
  };
  readonly #log: WebLog;
  readonly #live = new Map<string, LiveChat>();
  readonly #calls: CallMemory;
  readonly #underWay = new Set<Promise<void>>();
  readonly #lanes = new Lanes<string>();
  #accept: Accept | undefined;
  #state: ChannelState = { kind: 'stopped' };

  constructor(log: WebLog) {
    this.#log = log;
    this.#calls = new CallMemory(log);
  }

  get state(): ChannelState {
    return this.#state;
  }

  async start(accept: Accept): Promise<void> {
    this.#accept = accept;
    this.#state = { kind: 'up', since: new Date() };
    await this.#log.pruneFiles(new Date(Date.now() - looseFilesLastMs));
    for (const { chat, message } of await this.#log.unaccepted()) await this.#handOn(chat, { id: chat.person, name: chat.person }, message);
  }

  async stop(): Promise<void> {
    this.#accept = undefined;
    this.#state = { kind: 'stopped' };
    await settlesWithin(stopDeadlineMs, Promise.allSettled(this.#underWay));
    await this.#calls.end();
  }

  async send({ chat }: Place, { text, buttons = [], replyTo, file, key }: Outgoing, signal?: AbortSignal): Promise<string> {
    signal?.throwIfAborted();
    const files = file ? [await this.keepFile(chat, file)] : [];
    const message = await this.#log.append(
      chat,
      { id: key === undefined ? randomUUID() : idOf(key), author: 'us', text, buttons, replyTo, files },
      new Date(),
    );
    if (message?.author !== 'us') throw new HermeticError('channel/refused', 'There is no such chat on the web page.');
    this.#liveChat(chat).changed(message.position);
    return message.id;
  }

  async edit({ chat }: Place, id: string, { text, buttons = [] }: Outgoing): Promise<void> {
    const message = await this.#log.edit(chat, id, { text, buttons }, new Date());
    if (!message) throw new HermeticError('channel/refused', 'There is no such message on the web page.');
    this.#liveChat(chat).changed(message.position);
  }

  async typing({ chat }: Place): Promise<void> {
    this.#live.get(chat)?.tell({ kind: 'typing' });
  }

  activity({ chat }: Place, activity: Activity): void {
    const live = this.#liveChat(chat);
    const before = activity.kind === 'turn-ended' ? live.runningIn(activity.turn) : [];
    live.act(activity);
    this.#calls.note(chat, activity, (which) => live.call(which));
    for (const { turn, call } of before)
      this.#calls.note(chat, { kind: 'tool-ended', turn, call, outcome: unfinished, text: '' }, (which) => live.call(which));
  }

  async noticed(press: IncomingPress, text?: string): Promise<void> {
    this.#live.get(press.place.chat)?.tell({ kind: 'noticed', message: press.message, text });
  }

  async fetchFile({ id, bytes }: IncomingFile, maxBytes: number): Promise<Buffer> {
    if ((bytes ?? 0) > maxBytes) throw new HermeticError('channel/refused', `The file is larger than ${maxBytes} bytes.`);
    const data = await this.#log.fileData(id);
    if (!data) throw new HermeticError('channel/refused', 'The file is no longer there.');
    if (data.byteLength > maxBytes) throw new HermeticError('channel/refused', `The file is larger than ${maxBytes} bytes.`);
    return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  }

  /** The chats of one person. */
  chatsOf(person: Person): WebChats {
    return chatsOf(this, this.#log, person);
  }

  /** Resolves when it is in the log and will be handled. What is said in one chat is handed on in the order in which it came. */
  async receive(chat: WebChat, said: TypedMessage): Promise<void> {
    this.#refuseWhenStopped();
    await this.#lanes.run(chat.id, () => this.#receive(chat, said));
  }

  async #receive(chat: WebChat, { person, id, text, files, replyTo }: TypedMessage): Promise<void> {
    this.#refuseWhenStopped();
    const named = await Promise.all(files.map((file) => this.#log.file(file)));
    const known = named.flatMap((file) =>
      file?.chat === chat.id ? [{ id: file.id, name: file.name, mimeType: file.mimeType, bytes: file.bytes }] : [],
    );
    if (known.length !== files.length) throw new HermeticError('channel/refused', 'A file of the message is not there.');
    const content = { id, author: 'person', text, buttons: [], replyTo, files: known } as const;
    const message = await this.#log.append(chat.id, content, new Date(), titleOf(text, known));
    if (message?.author !== 'person') throw new HermeticError('channel/refused', 'The message has the id of another one.');
    this.#liveChat(chat.id).changed(message.position);
    if (await this.#log.isWaiting(chat.id, id)) await this.#handOn(chat, person, message);
  }

  async press(chat: WebChat, person: Person, { id, message, data }: { id: string; message: string; data: string }): Promise<boolean> {
    const found = await this.#log.find(chat.id, message);
    // Security: only what we offered can be pressed, where we offered it, and only as long as we do.
    if (!found?.buttons.some((row) => row.some((button) => button.data === data))) return false;
    await this.#hand({ kind: 'press', id, place: placeOf(chat), from: person, at: new Date(), data, message });
    return true;
  }

  async keepFile(chat: string, { name, data }: { name: string; data: Uint8Array }): Promise<WebFile> {
    if (data.byteLength > this.traits.maxFileBytes) throw new HermeticError('channel/refused', 'The file is too large for the web page.');
    // Security: a name from outside, shown and offered as the name to save under.
    const file = { id: randomUUID(), name: plainName(name), mimeType: mimeTypeOf(data), bytes: data.byteLength };
    await this.#log.addFile(chat, file, data, new Date());
    return file;
  }

  async *follow(chat: string, seq: number, signal: AbortSignal): AsyncGenerator<WebEvent> {
    const live = this.#liveChat(chat);
    // A page without them is better than none.
    await live.load(() => this.#log.calls(chat)).catch(() => undefined);
    const follower = live.join();
    try {
      let last = seq;
      while (!signal.aborted) {
        while (follower.isBehind && !signal.aborted) {
          follower.isBehind = false;
          const messages = await this.#log.after(chat, last, batch);
          for (const message of messages) {
            yield { kind: 'message', message };
            last = message.seq;
          }
          if (messages.length === batch) follower.isBehind = true;
        }
        for (const event of follower.take()) yield event;
        await follower.woken(signal);
      }
    } finally {
      live.leave(follower);
    }
  }

  async #handOn(chat: WebChat, from: Person, message: WebMessage): Promise<void> {
    const { id, at, text, files, replyTo } = message;
    const quoted = replyTo === undefined ? undefined : await this.#log.find(chat.id, replyTo);
    await this.#hand({
      ...{ kind: 'message', id, at, text, files, from },
      place: placeOf(chat),
      isDirect: true,
      isAddressed: true,
      quoted: quoted && { from: quoted.author === 'us' ? 'you' : from.name, text: quoted.text },
    });
    await this.#log.accepted(chat.id, id);
  }

  async #hand(incoming: Parameters<Accept>[0]): Promise<void> {
    const handing = this.#refuseWhenStopped()(incoming);
    this.#underWay.add(handing);
    await handing.finally(() => this.#underWay.delete(handing));
  }

  #refuseWhenStopped(): Accept {
    if (!this.#accept) throw new HermeticError('channel/busy', 'The gateway is starting or stopping.', { retryAfterMs: 1000 });
    return this.#accept;
  }

  #liveChat(chat: string): LiveChat {
    const found = this.#live.get(chat);
    if (found) return found;
    if (this.#live.size >= maxLiveChats) for (const [id, live] of this.#live) if (live.isIdle) this.#live.delete(id);
    const live = new LiveChat();
    this.#live.set(chat, live);
    return live;
  }
}

function placeOf({ id }: WebChat): Place {
  return { platform: kind, workspace: undefined, chat: id, thread: undefined };
}

function idOf(key: string): string {
  return `k-${digestOf(key).slice(0, 40)}`;
}

function titleOf(text: string, files: readonly WebFile[]): string {
  const first = text.split('\n').find((one) => one.trim() !== '') ?? files[0]?.name ?? '';
  const line = printable(first.toWellFormed());
  const cut = [...line].slice(0, 60).join('');
  return cut === line ? line : `${cut.replace(/\s+\S*$/u, '')}…`;
}

/** Security: by the content of the file; the sender's claim does not count. */
function mimeTypeOf(data: Uint8Array): string {
  return guessType(data.subarray(0, 512)).replace(/;.*/, '');
}
