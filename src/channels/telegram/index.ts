import type { Channel, ChannelTraits } from '../../core/channel.ts';
import type { ChannelDriver } from '../driver.ts';
import { PlatformChannel } from '../platform-channel.ts';
import { limitsAt, maxCaptionLength, maxFileBytes, maxTextLength } from './limits.ts';
import { telegramOptions } from './options.ts';

const traits: ChannelTraits = {
  isOwn: false,
  maxTextLength,
  maxCaptionLength,
  buttons: true,
  editEveryMs: 1500,
  maxFileBytes,
  typing: true,
  sendsOncePerKey: false,
};

export const telegram = {
  kind: 'telegram',
  name: 'Telegram',
  secrets: ['token_env'],
  summary: 'A bot on Telegram, by long polling: no public address is needed.',
  options: telegramOptions,
  setup: async () => (await import('./setup.ts')).setup,
  create: (context, options): Channel =>
    new PlatformChannel({
      kind: 'telegram',
      name: 'Telegram',
      traits,
      log: context.log,
      connect: async () => (await import('./connection.ts')).connect(context, options),
      limits: (place, saying) => limitsAt(place, saying, options.calls_per_second),
      // A chat with one person has that person's id.
      directPlace: (person) => ({ platform: 'telegram', workspace: undefined, chat: person, thread: undefined }),
    }),
} as const satisfies ChannelDriver<typeof telegramOptions>;
