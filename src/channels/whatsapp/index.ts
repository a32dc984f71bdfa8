import type { z } from 'zod';
import type { Channel, ChannelTraits } from '../../core/channel.ts';
import type { ChannelContext } from '../context.ts';
import type { ChannelDriver } from '../driver.ts';
import { PlatformChannel } from '../platform-channel.ts';
import { type Baileys, loadBaileys } from './baileys.ts';
import { maxCaption, maxFileBytes, maxText } from './limits.ts';
import { whatsappOptions } from './options.ts';

const traits: ChannelTraits = {
  isOwn: false,
  maxTextLength: maxText,
  maxCaptionLength: maxCaption,
  buttons: false,
  reactions: true,
  editEveryMs: 2000,
  maxFileBytes,
  typing: true,
  sendsOncePerKey: true,
};

export const whatsapp = {
  kind: 'whatsapp',
  name: 'WhatsApp',
  secrets: [],
  summary: 'A personal account of WhatsApp, linked like WhatsApp Web. Needs Baileys, which you install.',
  options: whatsappOptions,
  setup: async () => (await import('./setup.ts')).setup,
  create: (context, options): Channel => whatsappChannel(context, options),
} as const satisfies ChannelDriver<typeof whatsappOptions>;

export function whatsappChannel(
  context: ChannelContext,
  options: z.output<typeof whatsappOptions>,
  load: () => Promise<Baileys> = loadBaileys,
): Channel {
  return new PlatformChannel({
    kind: 'whatsapp',
    name: 'WhatsApp',
    traits,
    log: context.log,
    connect: async () => {
      const baileys = await load();
      return await (await import('./connection.ts')).connect(context, options, baileys);
    },
    directPlace: (person) => ({ platform: 'whatsapp', workspace: undefined, chat: person, thread: undefined }),
  });
}
