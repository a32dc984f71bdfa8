import type { ChannelNotes } from '../../core/channel-notes.ts';
import { channelId, isId, messageId, teamId } from './ids.ts';

/** A conversation, or a thread in one. */
export interface KnownChat {
  team: string;
  channel: string;
  thread: string | undefined;
}

const prefix = 'chat:';
const dayMs = 24 * 60 * 60 * 1000;
/** Those in which nothing was said for so long, and the oldest of more than these, are forgotten. */
const limits = { chat: { maxAgeMs: 60 * dayMs, max: 200 }, thread: { maxAgeMs: 7 * dayMs, max: 100 } } as const;

/** The conversations in which something was said, and the threads in which that was meant for us: Slack lists neither without further rights. */
export class KnownChats {
  readonly #notes: ChannelNotes | undefined;
  /** When something was last said there, by key; the latest at the end. */
  readonly #chats = new Map<string, number>();
  #writing: Promise<void> = Promise.resolve();

  private constructor(notes: ChannelNotes | undefined) {
    this.#notes = notes;
  }

  static async load(notes: ChannelNotes | undefined): Promise<KnownChats> {
    const known = new KnownChats(notes);
    const kept = [...((await notes?.read()) ?? [])].flatMap(([key, at]) => (key.startsWith(prefix) ? [{ key, at: Number(at) || 0 }] : []));
    for (const { key, at } of kept.toSorted((one, other) => one.at - other.at)) known.#chats.set(key, at);
    known.#forgetOld();
    return known;
  }

  /** The threads of a conversation are apart from it. */
  get all(): KnownChat[] {
    return [...this.#chats.keys()].flatMap((key) => chatOf(key) ?? []).reverse();
  }

  has(chat: KnownChat): boolean {
    return this.#chats.has(keyOf(chat));
  }

  /** Something was said there. */
  heard(chat: KnownChat): void {
    const key = keyOf(chat);
    const before = this.#chats.get(key);
    const now = Date.now();
    this.#chats.delete(key);
    const isKept = before !== undefined && now - before < dayMs;
    this.#chats.set(key, isKept ? before : now);
    if (isKept) return;
    this.#write({ [key]: String(now) });
    this.#forgetOld();
  }

  forget({ team, channel, thread }: KnownChat): void {
    const keys = [...this.#chats.keys()].filter((key) => {
      const one = chatOf(key);
      return one?.team === team && one.channel === channel && (thread === undefined || one.thread === thread);
    });
    this.#drop(keys);
  }

  /** Resolves when everything is written. */
  async kept(): Promise<void> {
    await this.#writing;
  }

  #forgetOld(): void {
    const now = Date.now();
    const keys = [...this.#chats.keys()];
    const broken = keys.filter((key) => !chatOf(key));
    const old = (['chat', 'thread'] as const).flatMap((kind) => {
      const { maxAgeMs, max } = limits[kind];
      const ofKind = keys.filter((key) => (chatOf(key)?.thread === undefined ? 'chat' : 'thread') === kind);
      return ofKind.filter((key, index) => index < ofKind.length - max || now - (this.#chats.get(key) ?? 0) > maxAgeMs);
    });
    this.#drop([...new Set([...broken, ...old])]);
  }

  #drop(keys: readonly string[]): void {
    for (const key of keys) this.#chats.delete(key);
    if (keys.length > 0) this.#write(Object.fromEntries(keys.map((key) => [key, undefined])));
  }

  /** When it fails, what is said there while no gateway runs is not found later. */
  #write(notes: Record<string, string | undefined>): void {
    if (this.#notes) this.#writing = Promise.all([this.#writing, this.#notes.write(notes)]).then(nothing, nothing);
  }
}

const nothing = (): undefined => undefined;

function keyOf({ team, channel, thread }: KnownChat): string {
  return prefix + [team, channel, ...(thread === undefined ? [] : [thread])].join('/');
}

function chatOf(key: string): KnownChat | undefined {
  const [team, channel, thread] = key.slice(prefix.length).split('/');
  if (!isId(team, teamId) || !isId(channel, channelId) || !(thread === undefined || isId(thread, messageId))) return undefined;
  return { team, channel, thread };
}
