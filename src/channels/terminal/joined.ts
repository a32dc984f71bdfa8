import { closeSync, openSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import type { Accept, Activity } from '../../core/channel.ts';
import { HermeticError } from '../../core/errors.ts';
import { TerminalChannel, type TerminalOptions } from './index.ts';
import { type Hello, protocolVersion, receivedMessage, type SentMessage, type Welcome } from './protocol.ts';
import { Wire } from './wire.ts';

/** A terminal at a gateway that runs in another process. */
export interface JoinedTerminal {
  channel: TerminalChannel;
  /** The connection has ended. */
  gone: Promise<void>;
  /** Ends what runs in the conversation. False when nothing does. */
  interrupt(): Promise<boolean>;
  /** Leaves. What runs goes on. */
  close(): Promise<void>;
}

/** Rejects when the gateway does not let it in. `greet` is called before anything is shown. */
export async function joinGateway(
  stream: Duplex,
  options: Omit<TerminalOptions, 'isSettled' | 'interrupt'>,
  greet: (channel: TerminalChannel) => void,
): Promise<JoinedTerminal> {
  const { promise: gone, resolve: onEnd } = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const wire = new Wire(stream, {
    onEnd,
    handle: async (name, value) => {
      if (name === 'identify') return identify(value);
      await started.promise;
      await handle(channel, name, value);
    },
  });
  const held: number[] = [];
  const identify = (path: unknown): number => {
    held.push(openSync(String(path), 'r'));
    return process.pid;
  };
  const interrupt = async (): Promise<boolean> => (await wire.call('interrupt')) === true;
  const isSettled = async (): Promise<boolean> => (await wire.call('isSettled')) === true;
  const channel = new TerminalChannel({ ...options, interrupt, isSettled });
  const hello: Hello = { version: protocolVersion, chat: options.chat, name: options.person.name, isLive: options.screen.isLive };
  const welcome = (await wire.call('hello', hello).finally(() => held.forEach(closeSync))) as Welcome;
  if (!welcome.ok) {
    wire.close();
    throw new HermeticError('gateway/refused', welcome.message, { hint: welcome.hint });
  }
  greet(channel);
  await channel.start(acceptOver(wire));
  started.resolve();
  const close = async (): Promise<void> => {
    wire.close();
    await channel.stop();
  };
  return { channel, gone, interrupt, close };
}

function acceptOver(wire: Wire): Accept {
  return async (incoming) => {
    const { id } = incoming;
    if (incoming.kind === 'press') await wire.call('press', { id, data: incoming.data, message: incoming.message });
    else await wire.call('message', { id, text: incoming.text, files: incoming.files });
  };
}

async function handle(channel: TerminalChannel, name: string, value: unknown): Promise<void> {
  if (name === 'activity') return channel.activity(channel.place, value as Activity);
  if (name === 'noticed') return channel.note(String(value));
  const { id, message } = value as { id: string; message: SentMessage };
  if (name === 'show') await channel.show(id, receivedMessage(message));
  else if (name === 'edit') await channel.edit(channel.place, id, receivedMessage(message));
  else throw new HermeticError('channel/refused', `This terminal knows no call of the name ${name}.`);
}
