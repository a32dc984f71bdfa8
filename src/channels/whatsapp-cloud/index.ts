import type { z } from 'zod';
import type { Accept, Channel, ChannelState, ChannelTraits, IncomingFile, IncomingPress, Outgoing, Place } from '../../core/channel.ts';
import { errorText } from '../../lib/error-text.ts';
import type { ChannelContext } from '../context.ts';
import type { ChannelDriver } from '../driver.ts';
import { Health } from '../health.ts';
import { maxCaption, maxFileBytes, maxText } from './limits.ts';
import { whatsAppCloudOptions } from './options.ts';
import type { Pace } from './watch.ts';

export const whatsAppCloud = {
  kind: 'whatsapp_cloud',
  name: 'WhatsApp Cloud',
  secrets: ['token_env', 'app_secret_env', 'verify_token_env'],
  summary: "A number on WhatsApp's official Cloud API: needs an app at Meta and a public https address.",
  options: whatsAppCloudOptions,
  setup: async () => (await import('./setup.ts')).setup,
  create: (context, options): Channel => new WhatsAppCloudChannel(context, options),
} as const satisfies ChannelDriver<typeof whatsAppCloudOptions>;

type Options = z.output<typeof whatsAppCloudOptions>;

export class WhatsAppCloudChannel implements Channel {
  readonly kind = 'whatsapp_cloud';
  readonly traits: ChannelTraits = {
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
  readonly #context: ChannelContext;
  readonly #options: Options;
  readonly #health: Health;
  readonly #pace: Pace | undefined;
  #connection: ReturnType<typeof connect> | undefined;
  #listening: { stop: AbortController; ended: Promise<void> } | undefined;

  constructor(context: ChannelContext, options: Options, pace?: Pace) {
    this.#context = context;
    this.#options = options;
    this.#health = new Health('WhatsApp Cloud', context.log);
    this.#pace = pace;
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

  /** A chat is called like the person in it. */
  directPlace(person: string): Place {
    return { platform: this.kind, workspace: undefined, chat: person, thread: undefined };
  }

  #connect(): ReturnType<typeof connect> {
    this.#connection ??= connect(this.#context.secret('token_env'), this.#options);
    return this.#connection;
  }

  async #begin(accept: Accept, signal: AbortSignal): Promise<{ ended: Promise<void> }> {
    const { log, deliveries } = this.#context;
    const { webhook_host: host, webhook_port: port, webhook_path: path } = this.#options;
    const health = this.#health;
    health.starting();
    const { client, phoneNumberId, recent, last, self, introduce, keepWatch, usualPace, Listener, Webhook } = await this.#connect();
    const number = await introduce(client, phoneNumberId, health, signal);
    self.name = number?.verified_name ?? self.name;
    const listener = new Listener({ phoneNumberId, recent, last, accept, health, log, deliveries, signal });
    const webhook = new Webhook({
      host,
      port,
      path,
      appSecret: this.#context.secret('app_secret_env'),
      verifyToken: this.#context.secret('verify_token_env'),
      deliver: (body) => listener.deliver(body),
      onFailure: (reason) => health.report('webhook', reason),
    });
    if (signal.aborted) return { ended: Promise.resolve() };
    await webhook.open();
    if (number) health.report('connection', undefined);
    const ended = keepWatch(client, phoneNumberId, health, this.#pace ?? usualPace, signal).then(async () => {
      await listener.farewell();
      await webhook.close();
    });
    return { ended };
  }
}

/** Loads what WhatsApp needs when it is needed. */
async function connect(token: string, { api_root: apiRoot, phone_number_id: phoneNumberId }: Options) {
  const [{ isToken }, { GraphClient }, { unusable }, { LastIncoming, RecentMessages }, { Speaker }, { Listener }, { Webhook }, watch] =
    await Promise.all([
      import('./options.ts'),
      import('./client.ts'),
      import('./failures.ts'),
      import('./recent.ts'),
      import('./speaker.ts'),
      import('./listener.ts'),
      import('./webhook.ts'),
      import('./watch.ts'),
    ]);
  if (!isToken(token)) throw unusable('This is not a token of Meta.');
  if (phoneNumberId === undefined) {
    const hint = 'Copy the "Phone number ID" from the page API Setup of the app, and set whatsapp_cloud.phone_number_id to it.';
    throw unusable('WhatsApp Cloud needs the id of a phone number.', hint);
  }
  const client = new GraphClient(token, apiRoot);
  const recent = new RecentMessages();
  const last = new LastIncoming();
  const self = { name: 'Hermetic' };
  const speaker = new Speaker({ client, phoneNumberId, recent, last, name: () => self.name });
  return { client, phoneNumberId, recent, last, self, speaker, Listener, Webhook, ...watch };
}
