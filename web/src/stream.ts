import { ApiError } from './api.ts';
import type { LiveEvent, Message } from './wire.ts';

export type Connection = { kind: 'connecting' } | { kind: 'open' } | { kind: 'waiting'; untilMs: number };

export interface StreamListener {
  message(message: Message): void;
  event(event: LiveEvent): void;
  connection(connection: Connection): void;
  signedOut(): void;
}

/** The gateway shows every 15 seconds that it is there. */
const silenceMs = 40_000;
const longestWaitMs = 15_000;
/** A browser allows six connections to one server; a hidden page closes its own. */
const hiddenMs = 30_000;

/** Follows a chat from wherever the page is, and comes back when the line is cut. */
export class Stream {
  readonly #chat: string;
  readonly #seq: () => number;
  readonly #probe: () => Promise<unknown>;
  readonly #listener: StreamListener;
  #source: EventSource | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #hiddenTimer: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;
  #isClosed = false;

  /** `probe` tells whether the gateway answers, and to us. */
  constructor(chat: string, seq: () => number, probe: () => Promise<unknown>, listener: StreamListener) {
    this.#chat = chat;
    this.#seq = seq;
    this.#probe = probe;
    this.#listener = listener;
    addEventListener('online', this.retryNow);
    document.addEventListener('visibilitychange', this.#looked);
    this.#open();
  }

  close(): void {
    this.#isClosed = true;
    this.#source?.close();
    clearTimeout(this.#timer);
    removeEventListener('online', this.retryNow);
    document.removeEventListener('visibilitychange', this.#looked);
    clearTimeout(this.#hiddenTimer);
  }

  readonly #looked = (): void => {
    clearTimeout(this.#hiddenTimer);
    if (document.hidden) this.#hiddenTimer = setTimeout(() => this.#rest(), hiddenMs);
    else this.retryNow();
  };

  readonly retryNow = (): void => {
    if (this.#source || this.#isClosed || document.hidden) return;
    clearTimeout(this.#timer);
    void this.#reopen();
  };

  #open(): void {
    this.#listener.connection({ kind: 'connecting' });
    const source = new EventSource(`/api/chats/${this.#chat}/events?after=${this.#seq()}`);
    this.#source = source;
    source.onerror = () => this.#lost();
    this.#on(source, 'ping', () => {
      this.#failures = 0;
      this.#listener.connection({ kind: 'open' });
    });
    this.#on(source, 'message', (data) => this.#listener.message(data as Message));
    for (const kind of ['now', 'activity', 'typing', 'noticed']) this.#on(source, kind, (data) => this.#listener.event(data as LiveEvent));
    this.#expectSoon();
  }

  #on(source: EventSource, kind: string, listener: (data: unknown) => void): void {
    source.addEventListener(kind, (event) => {
      if (this.#source !== source) return;
      this.#expectSoon();
      listener(event.data === '' ? undefined : JSON.parse(event.data));
    });
  }

  #expectSoon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#lost(), silenceMs);
  }

  #rest(): void {
    this.#source?.close();
    this.#source = undefined;
    clearTimeout(this.#timer);
    this.#listener.connection({ kind: 'connecting' });
  }

  #lost(): void {
    this.#source?.close();
    this.#source = undefined;
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#failures += 1;
    const waitMs = Math.min(longestWaitMs, 250 * 2 ** this.#failures) * (0.75 + Math.random() / 2);
    this.#listener.connection({ kind: 'waiting', untilMs: Date.now() + waitMs });
    this.#timer = setTimeout(() => void this.#reopen(), waitMs);
  }

  async #reopen(): Promise<void> {
    this.#listener.connection({ kind: 'connecting' });
    try {
      await this.#probe();
      if (!this.#isClosed && !this.#source) this.#open();
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) this.#listener.signedOut();
      else this.#lost();
    }
  }
}
