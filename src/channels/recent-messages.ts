import type { IncomingMessage } from '../core/channel.ts';

/** How many messages are remembered, and how long they are together. */
const maxMessages = 5000;
const maxUnits = 2_000_000;

/** The author of our own messages in a quote, on a platform that gives us no name. */
export const ownName = 'Hermetic';

export type RecentMessage = NonNullable<IncomingMessage['quoted']>;

/**
 * Messages of all chats since the start, ours included. Some platforms name the message that a reply answers by its id
 * only; on others the person who replies chooses the words and the author of the quote. Forgets the oldest.
 */
export class RecentMessages {
  readonly #messages = new Map<string, RecentMessage>();
  #units = 0;

  /** Also for a message that has a new text. */
  add(chat: string, id: string, { from, text }: RecentMessage): void {
    const key = keyOf(chat, id);
    this.#forget(key);
    this.#messages.set(key, { from, text });
    this.#units += unitsOf(key, { from, text });
    for (const oldest of this.#messages.keys()) {
      if (this.#messages.size <= maxMessages && this.#units <= maxUnits) break;
      this.#forget(oldest);
    }
  }

  /** Security: only in the chat in which it was said. */
  find(chat: string, id: string): RecentMessage | undefined {
    return this.#messages.get(keyOf(chat, id));
  }

  #forget(key: string): void {
    const message = this.#messages.get(key);
    if (!message) return;
    this.#units -= unitsOf(key, message);
    this.#messages.delete(key);
  }
}

function keyOf(chat: string, id: string): string {
  return JSON.stringify([chat, id]);
}

function unitsOf(key: string, { from, text }: RecentMessage): number {
  return key.length + from.length + text.length;
}
