import type { z } from 'zod';
import type { Accept, Channel, ChannelState, ChannelTraits, IncomingFile, IncomingPress, Outgoing, Place } from '../../core/channel.ts';
import { settlesWithin } from '../../lib/deadline.ts';
import { errorText } from '../../lib/error-text.ts';
import type { ChannelContext } from '../context.ts';
import type { ChannelDriver } from '../driver.ts';
import { Health } from '../health.ts';
import { maxContent, maxFileBytes } from './limits.ts';
import { discordOptions } from './options.ts';

export const discord = {
  kind: 'discord',
  name: 'Discord',
  secrets: ['token_env'],
  summary: 'A bot on Discord, in direct messages and on servers: no public address is needed.',
  options: discordOptions,
  setup: async () => (await import('./setup.ts')).setup,
  create: (context, options): Channel => new DiscordChannel(context, options),
} as const satisfies ChannelDriver<typeof discordOptions>;

/** How long `start` waits to say whether it is up. */
const firstTryMs = 10_000;

type Options = z.output<typeof discordOptions>;

class DiscordChannel implements Channel {
  readonly kind = 'discord';
  readonly traits: ChannelTraits = {
    isOwn: false,
    maxTextLength: maxContent,
    buttons: true,
    editEveryMs: 1500,
    maxFileBytes,
    typing: true,
    sendsOncePerKey: true,
  };
  readonly #context: ChannelContext;
  readonly #options: Options;
  readonly #health: Health;
  #connection: ReturnType<typeof connect> | undefined;
  #listening: { stop: AbortController; ended: Promise<void> } | undefined;

  constructor(context: ChannelContext, options: Options) {
    this.#context = context;
    this.#options = options;
    this.#health = new Health('Discord', context.log);
  }

  get state(): ChannelState {
    return this.#health.state;
  }

  async start(accept: Accept): Promise<void> {
    if (this.#listening) return;
    const stop = new AbortController();
    const begun = this.#begin(accept, stop.signal);
    this.#listening = {
      stop,
      ended: begun.then(
        ({ ended }) => ended,
        () => undefined,
      ),
    };
    try {
      await begun;
    } catch (error) {
      this.#listening = undefined;
      this.#health.failed(errorText(error));
      throw error;
    }
  }

  async stop(): Promise<void> {
    const listening = this.#listening;
    this.#health.stopped();
    listening?.stop.abort();
    await listening?.ended;
    if (this.#listening === listening) this.#listening = undefined;
  }

  async send(place: Place, message: Outgoing, signal?: AbortSignal): Promise<string> {
    const { speaker } = await this.#connect();
    return await speaker.send(place, message, signal);
  }

  async edit(place: Place, id: string, message: Outgoing, signal?: AbortSignal): Promise<void> {
    const { speaker } = await this.#connect();
    await speaker.edit(place, id, message, signal);
  }

  async remove(place: Place, id: string, signal?: AbortSignal): Promise<void> {
    const { speaker } = await this.#connect();
    await speaker.remove(place, id, signal);
  }

  async typing(place: Place): Promise<void> {
    const connection = await this.#connect().catch(() => undefined);
    await connection?.speaker.typing(place);
  }

  async noticed(press: IncomingPress, text?: string): Promise<void> {
    const connection = await this.#connect().catch(() => undefined);
    await connection?.speaker.noticed(press, text);
  }

  async fetchFile(file: IncomingFile, maxBytes: number): Promise<Buffer> {
    const { speaker } = await this.#connect();
    return await speaker.fetchFile(file, maxBytes);
  }

  #connect(): ReturnType<typeof connect> {
    this.#connection ??= connect(this.#context.secret('token_env'), this.#options.api_root);
    return this.#connection;
  }

  async #begin(accept: Accept, signal: AbortSignal): Promise<{ ended: Promise<void> }> {
    const { log, deliveries, notes, commands = [] } = this.#context;
    const token = this.#context.secret('token_env');
    const health = this.#health;
    health.starting();
    const { client, speaker, interactions, introduce, keepLink, Listener, ReadMark } = await this.#connect();
    await introduce(client, health, signal);
    const mark = await ReadMark.load(notes);
    const listener = new Listener({ client, speaker, interactions, accept, health, log, deliveries, notes, mark, signal });
    await listener.prepare();
    void commands;
    const tried = Promise.withResolvers<void>();
    const link = keepLink(
      {
        client,
        token,
        health,
        onReady: (ready) => listener.ready(ready),
        onEvent: (event) => listener.take(event),
        onTried: tried.resolve,
      },
      signal,
    );
    await settlesWithin({ ms: firstTryMs, signal }, tried.promise);
    return { ended: link.then(() => listener.farewell()) };
  }
}

/** Loads what Discord needs when it is needed. */
async function connect(token: string, apiRoot: string | undefined) {
  const [{ DiscordClient }, { introduce }, { Speaker }, { Interactions }, { keepLink }, { Listener }, { ReadMark }] = await Promise.all([
    import('./client.ts'),
    import('./introduction.ts'),
    import('./speaker.ts'),
    import('./interactions.ts'),
    import('./link.ts'),
    import('./listener.ts'),
    import('./read-mark.ts'),
  ]);
  const client = new DiscordClient(token, apiRoot);
  const interactions = new Interactions();
  return { client, interactions, speaker: new Speaker(client, interactions), introduce, keepLink, Listener, ReadMark };
}
