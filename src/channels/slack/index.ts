import type { Channel, ChannelTraits } from '../../core/channel.ts';
import type { ChannelDriver } from '../driver.ts';
import { PlatformChannel } from '../platform-channel.ts';
import { limitsAt, maxFileBytes, maxText } from './limits.ts';
import { slackOptions } from './options.ts';

const traits: ChannelTraits = {
  isOwn: false,
  maxTextLength: maxText,
  buttons: true,
  editEveryMs: 2000,
  maxFileBytes,
  // Slack keeps what begins with a slash to itself.
  commandSign: '!',
  typing: false,
  sendsOncePerKey: false,
};

export const slack = {
  kind: 'slack',
  name: 'Slack',
  secrets: ['token_env', 'app_token_env'],
  summary: 'An app in Slack, in direct messages, channels and threads of one or more workspaces: no public address is needed.',
  options: slackOptions,
  setup: async () => (await import('./setup.ts')).setup,
  create: (context, options): Channel =>
    new PlatformChannel({
      kind: 'slack',
      name: 'Slack',
      traits,
      log: context.log,
      limits: limitsAt,
      connect: async () => (await import('./connection.ts')).connect(context, options),
    }),
} as const satisfies ChannelDriver<typeof slackOptions>;
