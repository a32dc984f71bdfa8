import type { z } from 'zod';
import type { Channel, ChannelTraits } from '../../core/channel.ts';
import type { ChannelContext } from '../context.ts';
import type { ChannelDriver } from '../driver.ts';
import { PlatformChannel } from '../platform-channel.ts';
import { limitsAt, maxCaption, maxFileBytes, maxText } from './limits.ts';
import { whatsAppCloudOptions } from './options.ts';
import type { Pace } from './watch.ts';

const traits: ChannelTraits = {
  isOwn: false,
  maxTextLength: maxText,
  maxCaptionLength: maxCaption,
  buttons: true,
  reactions: true,
  editEveryMs: undefined,
  maxFileBytes,
  typing: true,
  sendsOncePerKey: false,
};

export const whatsAppCloud = {
  kind: 'whatsapp_cloud',
  name: 'WhatsApp Cloud',
  secrets: ['token_env', 'app_secret_env', 'verify_token_env'],
  summary: "A number on WhatsApp's official Cloud API: needs an app at Meta and a public https address.",
  options: whatsAppCloudOptions,
  setup: async () => (await import('./setup.ts')).setup,
  create: (context, options): Channel => whatsAppCloudChannel(context, options),
} as const satisfies ChannelDriver<typeof whatsAppCloudOptions>;

/** `pace`: other than the usual one. */
export function whatsAppCloudChannel(context: ChannelContext, options: z.output<typeof whatsAppCloudOptions>, pace?: Pace): Channel {
  return new PlatformChannel({
    kind: 'whatsapp_cloud',
    name: 'WhatsApp Cloud',
    traits,
    log: context.log,
    limits: limitsAt,
    connect: async () => (await import('./connection.ts')).connect(context, options, pace),
    // A chat is called like the person in it.
    directPlace: (person) => ({ platform: 'whatsapp_cloud', workspace: undefined, chat: person, thread: undefined }),
  });
}
