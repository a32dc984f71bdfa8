import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { limitsAt as discordLimits } from '../../src/channels/discord/limits.ts';
import { limitsAt as slackLimits } from '../../src/channels/slack/limits.ts';
import { limitsAt as telegramLimits } from '../../src/channels/telegram/limits.ts';
import { limitsAt as whatsAppLimits } from '../../src/channels/whatsapp-cloud/limits.ts';
import type { Place, RateLimit, Saying } from '../../src/core/channel.ts';
import { Pace, type Waiting } from '../../src/gateway/outbox/pace.ts';
import { BotLimits } from '../fakes/bot-limits.ts';

const never = { signal: new AbortController().signal };
const secondMs = 1000;
const minuteMs = 60 * secondMs;

type LimitsAt = (place: Place, saying: Saying) => readonly RateLimit[];
interface Said {
  chat: string;
  saying: Saying;
  at: number;
}

function at(chat: string): Place {
  return { platform: 'any', workspace: 'W', chat, thread: undefined };
}

/** What a platform hears of things that are to be said at once, while others are typing. */
async function heard(
  limitsAt: LimitsAt,
  wanted: readonly { chat: string; saying: Waiting }[],
  typing: readonly string[] = [],
): Promise<Said[]> {
  const pace = new Pace();
  const said: Said[] = [];
  const all = wanted.map(async ({ chat, saying }) => {
    using turn = await pace.turn(saying, limitsAt(at(chat), saying), never);
    if (turn) said.push({ chat, saying, at: performance.now() });
  });
  const sign = (): void => {
    for (const chat of typing) if (pace.takeNow(limitsAt(at(chat), 'sign'))) said.push({ chat, saying: 'sign', at: performance.now() });
  };
  const timer = setInterval(sign, 40);
  while (said.filter(({ saying }) => saying !== 'sign').length < wanted.length) await vi.advanceTimersByTimeAsync(secondMs);
  clearInterval(timer);
  await Promise.all(all);
  return said;
}

/** The most of them in any window of this length. */
function mostWithin(windowMs: number, said: readonly Said[]): number {
  const times = said.map((one) => one.at);
  return Math.max(0, ...times.map((from) => times.filter((time) => time >= from && time < from + windowMs).length));
}

function times<Value>(count: number, make: (index: number) => Value): Value[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

/** Of every kind, in one chat after the other. */
function mixed(count: number, chats: readonly string[]): { chat: string; saying: Waiting }[] {
  const sayings: readonly Waiting[] = ['message', 'draft', 'growth', 'question', 'change'];
  return times(count, (index) => ({ chat: chats[index % chats.length] ?? '', saying: sayings[index % sayings.length] ?? 'message' }));
}

describe('the limits that are documented for', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  it('Telegram are kept in a group, with a person, and by the bot', async () => {
    const limitsAt: LimitsAt = (place, saying) => telegramLimits(place, saying, 30);
    for (const [chats, count] of [
      [['-100'], 40],
      [['7'], 60],
      [times(60, (index) => String(index + 1)), 300],
    ] as const) {
      const said = await heard(limitsAt, mixed(count, chats), chats);
      const limits = new BotLimits();
      const methods: Partial<Record<Saying, string>> = { change: 'editmessagetext', growth: 'editmessagetext', sign: 'sendchataction' };
      const refused = said.filter(({ chat, saying, at: now }) => limits.take(methods[saying] ?? 'sendmessage', { chat_id: chat }, now));
      expect(refused).toEqual([]);
    }
  });

  it('Telegram leave half of the pace to messages when many buttons are pressed', async () => {
    const limitsAt: LimitsAt = (place, saying) => telegramLimits(place, saying, 30);
    const notices = times(300, () => ({ chat: '5', saying: 'notice' as const }));
    const said = await heard(limitsAt, [...notices, ...times(20, (index) => ({ chat: String(index + 10), saying: 'message' as const }))]);
    const messages = said.filter(({ saying }) => saying === 'message');
    expect((messages.at(-1)?.at ?? 0) - (said[0]?.at ?? 0)).toBeLessThan(3 * secondMs);
  });

  it('Slack are kept in a conversation and in a workspace', async () => {
    const chats = times(50, (index) => `C${index}`);
    const said = await heard(slackLimits, [...mixed(250, chats), ...mixed(20, ['C0'])], chats);
    const isChange = ({ saying }: Said): boolean => saying === 'change' || saying === 'growth';
    expect(mostWithin(minuteMs, said.filter(isChange))).toBeLessThanOrEqual(50);
    const inOne = said.filter((one) => !isChange(one) && one.chat === 'C0');
    // One a second, and short bursts.
    expect(mostWithin(minuteMs, inOne)).toBeLessThanOrEqual(65);
    expect(mostWithin(secondMs, inOne)).toBeLessThanOrEqual(6);
  });

  it('Discord are kept by the bot', async () => {
    const chats = times(100, (index) => String(index));
    expect(mostWithin(secondMs, await heard(discordLimits, mixed(400, chats), chats))).toBeLessThanOrEqual(50);
  });

  it('WhatsApp Cloud are kept for a person and a number, and typing takes nothing from what a person may get', async () => {
    const people = times(60, (index) => `49${index}`);
    const toMany = await heard(whatsAppLimits, mixed(200, people), people);
    expect(mostWithin(secondMs, toMany)).toBeLessThanOrEqual(40);
    const toOne = await heard(
      whatsAppLimits,
      times(45, () => ({ chat: '1', saying: 'message' as const })),
      ['1'],
    );
    const messages = toOne.filter(({ saying }) => saying === 'message');
    expect(mostWithin(6 * secondMs, messages)).toBeLessThanOrEqual(45);
    expect(mostWithin(2 * secondMs, messages)).toBeGreaterThanOrEqual(40);
  });
});
