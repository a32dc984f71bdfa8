import type { Channel, ChannelTraits } from '../../core/channel.ts';
import type { ChannelDriver } from '../driver.ts';
import { PlatformChannel } from '../platform-channel.ts';
import { placeOf } from './ids.ts';
import { maxFileBytes, maxTextLength } from './limits.ts';
import { signalOptions } from './options.ts';

const traits: ChannelTraits = {
  isOwn: false,
  maxTextLength,
  buttons: false,
  reactions: true,
  // A message can be edited ten times: that is enough for what takes a minute, and the rest of a longer text is sent.
  editEveryMs: 5000,
  maxFileBytes,
  typing: true,
  sendsOncePerKey: false,
};

export const signal = {
  kind: 'signal',
  name: 'Signal',
  secrets: [],
  summary: 'An account on Signal, through the signal-cli that you run: no public address is needed.',
  options: signalOptions,
  setup: async () => (await import('./setup.ts')).setup,
  create: (context, options): Channel =>
    new PlatformChannel({
      kind: 'signal',
      name: 'Signal',
      traits,
      log: context.log,
      connect: async () => (await import('./connection.ts')).connect(context, options),
      directPlace: placeOf,
    }),
} as const satisfies ChannelDriver<typeof signalOptions>;
