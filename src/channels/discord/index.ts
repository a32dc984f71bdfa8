import type { Channel, ChannelTraits } from '../../core/channel.ts';
import type { ChannelDriver } from '../driver.ts';
import { PlatformChannel } from '../platform-channel.ts';
import { limitsAt, maxContent, maxFileBytes } from './limits.ts';
import { discordOptions } from './options.ts';

const traits: ChannelTraits = {
  isOwn: false,
  maxTextLength: maxContent,
  buttons: true,
  editEveryMs: 1500,
  maxFileBytes,
  typing: true,
  sendsOncePerKey: true,
};

export const discord = {
  kind: 'discord',
  name: 'Discord',
  secrets: ['token_env'],
  summary: 'A bot on Discord, in direct messages and on servers: no public address is needed.',
  options: discordOptions,
  setup: async () => (await import('./setup.ts')).setup,
  create: (context, options): Channel =>
    new PlatformChannel({
      kind: 'discord',
      name: 'Discord',
      traits,
      log: context.log,
      limits: limitsAt,
      connect: async () => (await import('./connection.ts')).connect(context, options),
    }),
} as const satisfies ChannelDriver<typeof discordOptions>;
