import type { z } from 'zod';
import type { Accept, Channel, ChannelState, ChannelTraits, IncomingFile, Outgoing, Place } from '../../core/channel.ts';
import { HermeticError } from '../../core/errors.ts';
import { settlesWithin } from '../../lib/deadline.ts';
import { errorText } from '../../lib/error-text.ts';
import type { ChannelContext } from '../context.ts';
import type { ChannelDriver } from '../driver.ts';
import { Health } from '../health.ts';
import { placeOf } from './ids.ts';
import { maxFileBytes, maxTextLength } from './limits.ts';
import { signalOptions } from './options.ts';

export const signal = {
  kind: 'signal',
  name: 'Signal',
  secrets: [],
  summary: 'An account on Signal, through the signal-cli that you run: no public address is needed.',
  options: signalOptions,
  setup: async () => (await import('./setup.ts')).setup,
  create: (context, options): Channel => new SignalChannel(context, options),
} as const satisfies ChannelDriver<typeof signalOptions>;

/** How long `start` waits to say whether it is up. */
const firstTryMs = 15_000;

type Options = z.output<typeof signalOptions>;

class SignalChannel implements Channel {
  readonly kind = 'signal';
  readonly traits: ChannelTraits = {
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
  readonly #context: ChannelContext;
  readonly #options: Options;
  readonly #health: Health;
  #connection: ReturnType<typeof connect> | undefined;
  #listening: { stop: AbortController; ended: Promise<void> } | undefined;

  constructor(context: ChannelContext, options: Options) {
    this.#context = context;
    this.#options = options;
    this.#health = new Health('Signal', context.log);
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

  async fetchFile(file: IncomingFile, maxBytes: number): Promise<Buffer> {
    const { speaker } = await this.#connect();
    return await speaker.fetchFile(file, maxBytes);
  }

  directPlace(person: string): Place {
    return placeOf(person);
  }

  #connect(): ReturnType<typeof connect> {
    this.#connection ??= connect(this.#options, this.#context);
    return this.#connection;
  }

  async #begin(accept: Accept, signal: AbortSignal): Promise<{ ended: Promise<void> }> {
    const { log, deliveries, notes } = this.#context;
    const health = this.#health;
    health.starting();
    const { Listener, EventCursor, ...parts } = await this.#connect();
    const cursor = await EventCursor.load(notes);
    const noteToSelf = this.#options.note_to_self;
    const listener = new Listener({ ...parts, cursor, noteToSelf, accept, health, log, deliveries, signal });
    const tried = Promise.withResolvers<void>();
    const ended = listener.run(tried.resolve);
    ended.then(tried.resolve, tried.reject);
    await settlesWithin({ ms: firstTryMs, signal }, tried.promise);
    return { ended: ended.catch((error: unknown) => health.failed(errorText(error))) };
  }
}

/** Loads what Signal needs when it is needed. */
async function connect({ account, api_root: apiRoot, socket }: Options, { notes }: ChannelContext) {
  if (account === undefined) {
    const hint = 'Put the phone number of an account that signal-cli has into signal.account, as text in quotes.';
    throw new HermeticError('channel/unusable', 'signal.account is not set.', { hint });
  }
  const [{ daemonAt }, { EventCursor }, { Listener }, { Revisions }, { Self }, { Speaker }] = await Promise.all([
    import('./connect.ts'),
    import('./event-cursor.ts'),
    import('./listener.ts'),
    import('./revisions.ts'),
    import('./self.ts'),
    import('./speaker.ts'),
  ]);
  const daemon = daemonAt({ account, apiRoot, socket });
  const self = new Self(account);
  const revisions = new Revisions(notes);
  return { daemon, self, revisions, speaker: new Speaker(daemon, self, revisions), Listener, EventCursor };
}
