import { ApiError, api } from './api.ts';
import type { ChatEvent } from './wire.ts';

/** `waiting`: the gateway does not answer. */
export type Connection = 'connecting' | 'open' | 'waiting';

export interface StreamListener {
  event(chat: string, event: ChatEvent): void;
  /** Also each time that the gateway, or its absence, shows anew. */
  connection(connection: Connection): void;
  signedOut(): void;
}

/** The gateway shows every second that it is there. Without a sign for so long, it is gone. */
export const silenceMs = 2500;
/** A slow network may take so long to open a stream. */
const opensWithinMs = 15_000;
const probeEveryMs = 1000;
const answersWithinMs = 4000;
/** After "too many requests". */
const refusedEveryMs = 5000;

/** One line to the gateway for any number of chats, which comes back when it is cut. */
export class Stream {
  readonly #chats: () => ReadonlyMap<string, number>;
  readonly #listener: StreamListener;
  #source: EventSource | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** While the gateway is looked for. */
  #search: AbortController | undefined;
  #isOpen = false;

  /** `chats`: those to follow, each with the number of the last message that is here. */
  constructor(chats: () => ReadonlyMap<string, number>, listener: StreamListener) {
    this.#chats = chats;
    this.#listener = listener;
  }

  /** With the chats as they are now. */
  open(): void {
    // A stream that takes the place of another one is no news, unless nothing comes of it.
    if (!this.#isOpen) this.#listener.connection('connecting');
    this.#connect(() => this.#look());
  }

  close(): void {
    this.#source?.close();
    this.#source = undefined;
    this.#isOpen = false;
    this.#search?.abort();
    this.#search = undefined;
    clearTimeout(this.#timer);
  }

  /** Looks now, in place of some time later. */
  retryNow(): void {
    if (this.#isOpen) return;
    this.close();
    this.#look();
  }

  /** `refused`: for a stream that ends before it has begun. */
  #connect(refused: () => void): void {
    this.close();
    const source = new EventSource(api.eventsUrl(this.#chats()));
    this.#source = source;
    const on = (kind: string, listener: (data: string) => void): void =>
      source.addEventListener(kind, (event: MessageEvent<string>) => {
        if (this.#source !== source) return;
        this.#isOpen = true;
        this.#expectSoon();
        this.#listener.connection('open');
        listener(event.data);
      });
    on('ping', () => undefined);
    on('chat', (data) => {
      const { chat, event } = JSON.parse(data) as { chat: string; event: ChatEvent };
      this.#listener.event(chat, event);
    });
    source.onerror = () => {
      const wasOpen = this.#isOpen;
      this.close();
      if (!wasOpen) return refused();
      // Something in between may have cut the line, so the page looks before it says that the gateway is gone.
      this.#listener.connection('connecting');
      this.#look();
    };
    this.#timer = setTimeout(() => {
      this.#listener.connection('waiting');
      this.#timer = setTimeout(() => this.retryNow(), opensWithinMs - silenceMs);
    }, silenceMs);
  }

  #expectSoon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#listener.connection('waiting');
      this.retryNow();
    }, silenceMs);
  }

  #look(): void {
    this.#search = new AbortController();
    void this.#probe(this.#search.signal);
  }

  async #probe(search: AbortSignal): Promise<void> {
    // The next probe does not wait for the answer to this one, which may never come.
    this.#probeIn(probeEveryMs, search);
    const error = await api.ping(AbortSignal.any([search, AbortSignal.timeout(answersWithinMs)])).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (search.aborted) return;
    if (error === undefined) return this.#connect(() => this.#lookLater());
    if (error instanceof ApiError && error.status === 401) return this.#listener.signedOut();
    this.#listener.connection('waiting');
    if (error instanceof ApiError && error.status === 429) this.#probeIn(refusedEveryMs, search);
  }

  #probeIn(ms: number, search: AbortSignal): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#probe(search), ms);
  }

  /** The gateway answers, and gives no stream, as when too many pages are open. */
  #lookLater(): void {
    this.#listener.connection('waiting');
    this.#search = new AbortController();
    this.#probeIn(probeEveryMs, this.#search.signal);
  }
}
