import type { Accept, Channel, ChannelState, ChannelTraits, IncomingFile, IncomingPress, Outgoing, Place } from '../../core/channel.ts';
import { HermeticError } from '../../core/errors.ts';
import { errorText } from '../../lib/error-text.ts';
import type { ChannelContext } from '../context.ts';
import type { ChannelDriver, PlatformOptions } from '../driver.ts';
import { Health } from '../health.ts';
import { maxCaptionLength, maxFileBytes, maxTextLength } from './limits.ts';
import { isToken, telegramOptions } from './options.ts';

export const telegram = {
  kind: 'telegram',
  name: 'Telegram',
  secrets: ['token_env'],
  summary: 'A bot on Telegram, by long polling: no public address is needed.',
  options: telegramOptions,
  setup: async () => (await import('./setup.ts')).setup,
  create: (context, options): Channel => new TelegramChannel(context, options),
} as const satisfies ChannelDriver<typeof telegramOptions>;

class TelegramChannel implements Channel {
  readonly kind = 'telegram';
  readonly traits: ChannelTraits = {
    isOwn: false,
    maxTextLength,
    maxCaptionLength,
    buttons: true,
    editEveryMs: 1500,
    maxFileBytes,
    typing: true,
    sendsOncePerKey: false,
  };
  readonly #context: ChannelContext;
  readonly #options: PlatformOptions;
  readonly #health: Health;
  #connection: ReturnType<typeof connect> | undefined;
  #listening: { stop: AbortController; ended: Promise<void> } | undefined;

  constructor(context: ChannelContext, options: PlatformOptions) {
    this.#context = context;
    this.#options = options;
    this.#health = new Health('Telegram', context.log);
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

  /** A chat with one person has that person's id. */
  directPlace(person: string): Place {
    return { platform: this.kind, workspace: undefined, chat: person, thread: undefined };
  }

  #connect(): ReturnType<typeof connect> {
    this.#connection ??= connect(this.#context.secret('token_env'), this.#options.api_root);
    return this.#connection;
  }

  async #begin(accept: Accept, signal: AbortSignal): Promise<{ ended: Promise<void> }> {
    const { log, commands = [], deliveries } = this.#context;
    this.#health.starting();
    const { client, introduce, Poll } = await this.#connect();
    const self = await introduce(client, this.#health, signal);
    const poll = new Poll({ client, accept, health: this.#health, log, commands, deliveries }, self, signal);
    return { ended: poll.run() };
  }
}

/** Loads what Telegram needs when it is needed. */
async function connect(token: string, apiRoot: string | undefined) {
  if (!isToken(token)) {
    const hint = 'A token has the form 123456:ABC-DEF and comes from @BotFather. Put it into the variable named by telegram.token_env.';
    throw new HermeticError('channel/unusable', 'This is not a Telegram bot token.', { hint });
  }
  const [{ BotClient }, { introduce, Poll }, { Speaker }] = await Promise.all([
    import('./bot-client.ts'),
    import('./poll.ts'),
    import('./speaker.ts'),
  ]);
  const client = new BotClient(token, apiRoot);
  return { client, speaker: new Speaker(client), introduce, Poll };
}
