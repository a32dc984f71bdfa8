/** How many messages are remembered, and how long their texts are together. */
const maxMessages = 5000;
const maxUnits = 2_000_000;
const maxChats = 10_000;
/** So long WhatsApp shows that somebody is typing, and a little less. */
const typingMs = 20_000;

export interface RecentMessage {
  from: string;
  text: string;
}

/** What was said lately: a reply names the message that it answers by its id only. Forgets the oldest. */
export class RecentMessages {
  readonly #messages = new Map<string, RecentMessage & { chat: string }>();
  #units = 0;

  add(chat: string, id: string, { from, text }: RecentMessage): void {
    this.#forget(id);
    this.#messages.set(id, { chat, from, text });
    this.#units += text.length;
    for (const oldest of this.#messages.keys()) {
      if (this.#messages.size <= maxMessages && this.#units <= maxUnits) break;
      this.#forget(oldest);
    }
  }

  find(chat: string, id: string): RecentMessage | undefined {
    const found = this.#messages.get(id);
    return found?.chat === chat ? { from: found.from, text: found.text } : undefined;
  }

  #forget(id: string): void {
    this.#units -= this.#messages.get(id)?.text.length ?? 0;
    this.#messages.delete(id);
  }
}

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
