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
const probeEveryMs = 1000;
/** After "too many requests". */
const refusedEveryMs = 5000;

/** One line to the gateway for any number of chats, which comes back when it is cut. */
export class Stream {
  readonly #chats: () => ReadonlyMap<string, number>;
  readonly #listener: StreamListener;
  #source: EventSource | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #probing: AbortController | undefined;
  #isOpen = false;

  /** `chats`: what is followed, each with the number of the last message that is here. */
  constructor(chats: () => ReadonlyMap<string, number>, listener: StreamListener) {
    this.#chats = chats;
    this.#listener = listener;
  }

  /** With the chats as they are now. */
  open(): void {
    const isReplaced = this.#isOpen;
    this.close();
    // A stream that takes the place of another one is no news, unless nothing comes of it.
    if (!isReplaced) this.#listener.connection('connecting');
    const source = new EventSource(api.eventsUrl(this.#chats()));
    this.#source = source;
    const on = (kind: string, listener: (data: string) => void): void =>
      source.addEventListener(kind, (event: MessageEvent<string>) => {
        if (this.#source !== source) return;
        this.#expectSoon();
        this.#isOpen = true;
        this.#listener.connection('open');
        listener(event.data);
      });
    on('ping', () => undefined);
    on('chat', (data) => {
      const { chat, event } = JSON.parse(data) as { chat: string; event: ChatEvent };
      this.#listener.event(chat, event);
    });
    source.onerror = () => {
      // The line may have been cut by something in between, so it is only said when the gateway does not answer either.
      this.close();
      this.#listener.connection('connecting');
      void this.#probe();
    };
    this.#expectSoon();
  }

  close(): void {
    this.#source?.close();
    this.#source = undefined;
    this.#isOpen = false;
    this.#probing?.abort();
    this.#probing = undefined;
    clearTimeout(this.#timer);
  }

  /** Looks now, in place of some time later. */
  retryNow(): void {
    if (this.#source) return;
    clearTimeout(this.#timer);
    void this.#probe();
  }

  #expectSoon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.close();
      this.#wait(0);
    }, silenceMs);
  }

  #wait(ms: number): void {
    this.#listener.connection('waiting');
    this.#timer = setTimeout(() => void this.#probe(), ms);
  }

  async #probe(): Promise<void> {
    if (this.#probing) return;
    const probing = new AbortController();
    this.#probing = probing;
    // What hears nothing does not even say that it hears nothing.
    this.#timer = setTimeout(() => probing.abort(), probeEveryMs);
    const error = await api.ping(probing.signal).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    // Closed or opened meanwhile.
    if (this.#probing !== probing) return;
    this.#probing = undefined;
    clearTimeout(this.#timer);
    if (error === undefined) this.open();
    else if (error instanceof ApiError && error.status === 401) this.#listener.signedOut();
    else this.#wait(error instanceof ApiError && error.status === 429 ? refusedEveryMs : probing.signal.aborted ? 0 : probeEveryMs);
  }
}
