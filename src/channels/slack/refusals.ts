import type { Intake } from '../intake.ts';
import type { ReadMark } from '../read-mark.ts';
import { type KnownChat, nameOf } from './known-chats.ts';

export interface RefusalParts {
  intake: Intake;
  mark: ReadMark;
  /** Reads what was said in these, and in all that are known. */
  readMissed(chats: Iterable<KnownChat>): void;
  signal: AbortSignal;
}

/** Names only, and fewer than this many are enough for every conversation of a workspace. */
const maxChats = 10_000;

/**
 * Leaves messages with Slack while there is no room for them in memory. Slack does not deliver all of them again, so
 * they are read afterwards.
 */
export class Refusals {
  readonly #parts: RefusalParts;
  /** Where something was refused, since there is no room. */
  #chats: Map<string, KnownChat> | undefined;

  constructor(parts: RefusalParts) {
    this.#parts = parts;
  }

  /** Whether nothing is taken now. */
  get isFull(): boolean {
    if (!this.#chats && this.#parts.intake.isFull()) void this.#begin();
    return this.#chats !== undefined;
  }

  /** A message that was said there is not taken. */
  refused(chat: KnownChat): void {
    if (this.#chats && this.#chats.size < maxChats) this.#chats.set(nameOf(chat), chat);
  }

  async #begin(): Promise<void> {
    const { intake, mark, readMissed, signal } = this.#parts;
    const chats = new Map<string, KnownChat>();
    this.#chats = chats;
    const release = mark.hold();
    await intake.room();
    if (signal.aborted) return;
    this.#chats = undefined;
    readMissed(chats.values());
    release();
  }
}
