const maxChats = 10_000;
/** So long WhatsApp shows that somebody is typing, and a little less. */
const typingMs = 20_000;

/** The last message of each chat: that somebody is typing can be shown only as an answer to one. Forgets the chat that was quiet longest. */
export class LastIncoming {
  readonly #chats = new Map<string, { id: string; typedAt: number }>();

  add(chat: string, id: string): void {
    this.#chats.delete(chat);
    this.#chats.set(chat, { id, typedAt: Number.NEGATIVE_INFINITY });
    const [quietest] = this.#chats.keys();
    if (this.#chats.size > maxChats && quietest !== undefined) this.#chats.delete(quietest);
  }

  /** The message to answer; undefined when none is known, or when typing is shown already. */
  toAnswer(chat: string, now = Date.now()): string | undefined {
    const last = this.#chats.get(chat);
    if (!last || now - last.typedAt < typingMs) return undefined;
    last.typedAt = now;
    return last.id;
  }

  /** A message ends what is shown. */
  said(chat: string): void {
    const last = this.#chats.get(chat);
    if (last) last.typedAt = Number.NEGATIVE_INFINITY;
  }
}
