import type { ChannelNotes } from '../../core/channel-notes.ts';
import { RememberedChats } from '../remembered-chats.ts';
import { channelId, isId, messageId, teamId } from './ids.ts';

/** A conversation, or a thread in one. */
export interface KnownChat {
  team: string;
  channel: string;
  thread: string | undefined;
}

const dayMs = 24 * 60 * 60 * 1000;
const chatLimits = { maxAgeMs: 60 * dayMs, max: 200 };
const threadLimits = { maxAgeMs: 7 * dayMs, max: 100 };

/** The conversations in which something was said, and the threads in which that was meant for us: Slack lists neither without further rights. */
export class KnownChats {
  readonly #chats: RememberedChats;
  readonly #threads: RememberedChats;

  private constructor(chats: RememberedChats, threads: RememberedChats) {
    this.#chats = chats;
    this.#threads = threads;
  }

  static async load(notes: ChannelNotes | undefined): Promise<KnownChats> {
    const isName = (isThread: boolean) => (name: string) => {
      const chat = chatOf(name);
      return chat !== undefined && (chat.thread !== undefined) === isThread;
    };
    const chats = await RememberedChats.load(notes, 'chat:', chatLimits, isName(false));
    return new KnownChats(chats, await RememberedChats.load(notes, 'thread:', threadLimits, isName(true)));
  }

  /** The threads of a conversation are apart from it. */
  get all(): KnownChat[] {
    return [...this.#chats.names, ...this.#threads.names].flatMap((name) => chatOf(name) ?? []);
  }

  has(chat: KnownChat): boolean {
    return this.#of(chat).has(nameOf(chat));
  }

  /** Something was said there. */
  heard(chat: KnownChat): void {
    this.#of(chat).heard(nameOf(chat));
  }

  /** With its threads, when it is a conversation. */
  forget({ team, channel, thread }: KnownChat): void {
    const isMeant = (name: string): boolean => {
      const one = chatOf(name);
      return one?.team === team && one.channel === channel && (thread === undefined || one.thread === thread);
    };
    this.#threads.forget(this.#threads.names.filter(isMeant));
    if (thread === undefined) this.#chats.forget(this.#chats.names.filter(isMeant));
  }

  /** Resolves when everything is written. */
  async kept(): Promise<void> {
    await Promise.all([this.#chats.kept(), this.#threads.kept()]);
  }

  #of({ thread }: KnownChat): RememberedChats {
    return thread === undefined ? this.#chats : this.#threads;
  }
}

export function nameOf({ team, channel, thread }: KnownChat): string {
  return [team, channel, ...(thread === undefined ? [] : [thread])].join('/');
}

function chatOf(name: string): KnownChat | undefined {
  const [team, channel, thread] = name.split('/');
  if (!isId(team, teamId) || !isId(channel, channelId) || !(thread === undefined || isId(thread, messageId))) return undefined;
  return { team, channel, thread };
}
