import type { z } from 'zod';
import type { Accept, Channel, ChannelState, ChannelTraits, IncomingFile, Outgoing, Place } from '../../core/channel.ts';
import { settlesWithin } from '../../lib/deadline.ts';
import { errorText } from '../../lib/error-text.ts';
import type { ChannelContext } from '../context.ts';
import type { ChannelDriver } from '../driver.ts';
import { Health } from '../health.ts';
import type { Baileys } from './baileys.ts';
import { busy, refused } from './failures.ts';
import { maxCaption, maxFileBytes, maxText } from './limits.ts';
import { whatsappOptions } from './options.ts';

export const whatsapp = {
  kind: 'whatsapp',
  name: 'WhatsApp',
  secrets: [],
  summary: 'A personal account of WhatsApp, linked like WhatsApp Web. Needs Baileys, which you install.',
  options: whatsappOptions,
  setup: async () => (await import('./setup.ts')).setup,
  create: (context, options): Channel => new WhatsAppChannel(context, options),
} as const satisfies ChannelDriver<typeof whatsappOptions>;

/** How long `start` waits to say whether it is up. */
const firstTryMs = 10_000;

type Options = z.output<typeof whatsappOptions>;
type Session = Awaited<ReturnType<typeof import('./session.ts').openSession>>;

export class WhatsAppChannel implements Channel {
  readonly kind = 'whatsapp';
  readonly traits: ChannelTraits = {
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
  readonly #context: ChannelContext;
  readonly #options: Options;
  readonly #load: (() => Promise<Baileys>) | undefined;
  readonly #health: Health;
  #session: { stop: AbortController; opened: Promise<Session> } | undefined;
  #isStopped = false;

  constructor(context: ChannelContext, options: Options, load?: () => Promise<Baileys>) {
    this.#context = context;
    this.#options = options;
    this.#load = load;
    this.#health = new Health('WhatsApp', context.log);
  }

  get state(): ChannelState {
    return this.#health.state;
  }

  async start(accept: Accept): Promise<void> {
    this.#isStopped = false;
    this.#health.starting();
    try {
      const { arrivals, link } = await this.#open();
      await arrivals.listen(accept);
      await settlesWithin({ ms: firstTryMs, signal: this.#session?.stop.signal }, link.tried);
    } catch (error) {
      this.#session = undefined;
      this.#health.failed(errorText(error));
      throw error;
    }
  }

  async stop(): Promise<void> {
    const session = this.#session;
    this.#isStopped = true;
    this.#health.stopped();
    session?.stop.abort();
    await session?.opened.then(
      ({ ended }) => ended,
      () => undefined,
    );
    if (this.#session === session) this.#session = undefined;
  }

  async send(place: Place, message: Outgoing, signal?: AbortSignal): Promise<string> {
    const { speaker } = await this.#open();
    return await speaker.send(place, message, signal);
  }

  async edit(place: Place, id: string, message: Outgoing, signal?: AbortSignal): Promise<void> {
    const { speaker } = await this.#open();
    await speaker.edit(place, id, message, signal);
  }

  async remove(place: Place, id: string, signal?: AbortSignal): Promise<void> {
    const { speaker } = await this.#open();
    await speaker.remove(place, id, signal);
  }

  async typing(place: Place): Promise<void> {
    const session = await this.#open().catch(() => undefined);
    await session?.speaker.typing(place);
  }

  async fetchFile(file: IncomingFile, maxBytes: number): Promise<Buffer> {
    const { speaker } = await this.#open();
    return await speaker.fetchFile(file, maxBytes);
  }

  directPlace(person: string): Place {
    return { platform: this.kind, workspace: undefined, chat: person, thread: undefined };
  }

  async #open(): Promise<Session> {
    const { notes } = this.#context;
    if (this.#isStopped) throw busy('WhatsApp is stopped.');
    if (!notes) throw refused('Only the running gateway can write to WhatsApp.');
    if (!this.#session) {
      const stop = new AbortController();
      const parts = { notes, context: this.#context, options: this.#options, health: this.#health, signal: stop.signal, load: this.#load };
      this.#session = { stop, opened: import('./session.ts').then(({ openSession }) => openSession(parts)) };
    }
    return await this.#session.opened;
  }
}
