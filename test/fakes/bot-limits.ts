/** Which limit a call would break, and after how many whole seconds it would not. */
export interface Excess {
  limit: 'bot' | 'private chat' | 'group';
  retryAfter: number;
}

const botCalls = 30;
const botWindowMs = 1000;
const privateBurst = 20;
const privateRefillMs = 1000;
const groupMessages = 20;
const groupWindowMs = 60_000;

/** In lower case. What only asks or sets up the bot does not count. */
const counted = /^(?:send|edit|delete|answercallbackquery$)/;
const setUp = new Set(['deletewebhook', 'deletemycommands']);
const message = /^(?:send(?!chataction$)|edit)/;

/**
 * The limits of Telegram for a bot, as its FAQ says them: 30 calls in any second; in a private chat a message a second and short bursts; in a
 * group 20 messages in any minute. An edit is a message. A call that is refused counts for nothing, so one that comes when `retryAfter` is
 * over is taken.
 */
export class BotLimits {
  readonly #bot: number[] = [];
  /** How many more messages each chat takes, and when that was so. */
  readonly #privateChats = new Map<number, { left: number; at: number }>();
  /** When each group got its last messages, oldest first. */
  readonly #groups = new Map<number, number[]>();
  #prunedAt = Number.NEGATIVE_INFINITY;

  /** Counts a call, unless it is over a limit. `method` in lower case, `now` in milliseconds, never less than before. */
  take(method: string, parameters: Readonly<Record<string, unknown>>, now = performance.now()): Excess | undefined {
    if (!counted.test(method) || setUp.has(method)) return undefined;
    this.#prune(now);
    const chat = message.test(method) ? Number(parameters.chat_id) : Number.NaN;
    const excess = this.#overBot(now) ?? (chat > 0 ? this.#overPrivate(chat, now) : chat < 0 ? this.#overGroup(chat, now) : undefined);
    if (excess) return excess;
    this.#bot.push(now);
    if (chat > 0) this.#privateChats.set(chat, { left: this.#leftIn(chat, now) - 1, at: now });
    else if (chat < 0) this.#groups.set(chat, [...this.#recentIn(chat, now), now]);
    return undefined;
  }

  /** Chats about which something is remembered. */
  get chatCount(): number {
    return this.#privateChats.size + this.#groups.size;
  }

  #overBot(now: number): Excess | undefined {
    while ((this.#bot[0] ?? now) <= now - botWindowMs) this.#bot.shift();
    const [oldest = now] = this.#bot;
    return this.#bot.length < botCalls ? undefined : { limit: 'bot', retryAfter: seconds(oldest + botWindowMs - now) };
  }

  #overPrivate(chat: number, now: number): Excess | undefined {
    const left = this.#leftIn(chat, now);
    return left >= 1 ? undefined : { limit: 'private chat', retryAfter: seconds((1 - left) * privateRefillMs) };
  }

  #overGroup(chat: number, now: number): Excess | undefined {
    const recent = this.#recentIn(chat, now);
    const [oldest = now] = recent;
    return recent.length < groupMessages ? undefined : { limit: 'group', retryAfter: seconds(oldest + groupWindowMs - now) };
  }

  #leftIn(chat: number, now: number): number {
    const { left, at } = this.#privateChats.get(chat) ?? { left: privateBurst, at: now };
    return Math.min(privateBurst, left + (now - at) / privateRefillMs);
  }

  #recentIn(chat: number, now: number): number[] {
    return (this.#groups.get(chat) ?? []).filter((time) => time > now - groupWindowMs);
  }

  /** Forgets chats that are as they were at first. */
  #prune(now: number): void {
    if (now < this.#prunedAt + groupWindowMs) return;
    this.#prunedAt = now;
    for (const chat of this.#privateChats.keys()) if (this.#leftIn(chat, now) === privateBurst) this.#privateChats.delete(chat);
    for (const chat of this.#groups.keys()) if (this.#recentIn(chat, now).length === 0) this.#groups.delete(chat);
  }
}

function seconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}
