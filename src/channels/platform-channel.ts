import type {
  Accept,
  Channel,
  ChannelState,
  ChannelTraits,
  IncomingFile,
  IncomingPress,
  Outgoing,
  Place,
  RateLimit,
  Saying,
} from '../core/channel.ts';
import { errorText } from '../lib/error-text.ts';
import { Health } from './health.ts';

/** What is said at a platform. What a platform cannot do is missing, as its traits say. */
export interface Speaker {
  send(place: Place, message: Outgoing, signal: AbortSignal | undefined): Promise<string>;
  edit?(place: Place, id: string, message: Outgoing, signal: AbortSignal | undefined): Promise<void>;
  remove?(place: Place, id: string, signal: AbortSignal | undefined): Promise<void>;
  /** Never rejects. */
  typing?(place: Place): Promise<void>;
  /** Never rejects. */
  noticed?(press: IncomingPress, text: string | undefined): Promise<void>;
  fetchFile(file: IncomingFile, maxBytes: number): Promise<Buffer>;
}

/** Everything that a platform needs while it is used. */
export interface Connection {
  speaker: Speaker;
  /** Begins to listen. `ended` resolves, after the signal, when nothing is accepted any more. Rejects when it can never work. */
  listen(accept: Accept, health: Health, signal: AbortSignal): Promise<{ ended: Promise<void> }>;
}

export interface PlatformParts {
  kind: string;
  /** What people call it. */
  name: string;
  traits: ChannelTraits;
  log: (sentence: string) => void;
  /** Called once, when it is needed. Rejects when it can never work. */
  connect(): Promise<Connection>;
  directPlace?(person: string): Place;
  /** What the platform documents. */
  limits?(place: Place, saying: Saying): readonly RateLimit[];
}

/** A chat platform whose parts are loaded when they are needed. What differs between platforms is in its connection. */
export class PlatformChannel implements Channel {
  readonly kind: string;
  readonly traits: ChannelTraits;
  readonly edit?: NonNullable<Channel['edit']>;
  readonly remove?: NonNullable<Channel['remove']>;
  readonly typing?: NonNullable<Channel['typing']>;
  readonly directPlace?: NonNullable<Channel['directPlace']>;
  readonly limits?: NonNullable<Channel['limits']>;
  readonly #health: Health;
  readonly #load: () => Promise<Connection>;
  #connection: Promise<Connection> | undefined;
  #listening: { stop: AbortController; ended: Promise<void> } | undefined;

  constructor({ kind, name, traits, log, connect, directPlace, limits }: PlatformParts) {
    this.kind = kind;
    this.traits = traits;
    this.#health = new Health(name, log);
    this.#load = connect;
    if (traits.editEveryMs !== undefined) {
      this.edit = async (place, id, message, signal) => await (await this.#speaker()).edit?.(place, id, message, signal);
      this.remove = async (place, id, signal) => await (await this.#speaker()).remove?.(place, id, signal);
    }
    if (traits.typing) this.typing = async (place) => await (await this.#speaker().catch(() => undefined))?.typing?.(place);
    if (directPlace) this.directPlace = directPlace;
    if (limits) this.limits = limits;
  }

  get state(): ChannelState {
    return this.#health.state;
  }

  async start(accept: Accept): Promise<void> {
    if (this.#listening) return;
    const stop = new AbortController();
    this.#health.starting();
    const begun = this.#connect().then((connection) => connection.listen(accept, this.#health, stop.signal));
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
    return await (await this.#speaker()).send(place, message, signal);
  }

  async noticed(press: IncomingPress, text?: string): Promise<void> {
    await (await this.#speaker().catch(() => undefined))?.noticed?.(press, text);
  }

  async fetchFile(file: IncomingFile, maxBytes: number): Promise<Buffer> {
    return await (await this.#speaker()).fetchFile(file, maxBytes);
  }

  async #speaker(): Promise<Speaker> {
    return (await this.#connect()).speaker;
  }

  #connect(): Promise<Connection> {
    this.#connection ??= this.#load();
    return this.#connection;
  }
}
