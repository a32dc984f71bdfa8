import { type Connection, Stream, silenceMs } from './stream.ts';
import type { ChatEvent } from './wire.ts';

/** A tab and the chat it shows. */
interface Tab {
  id: string;
  chat: string | undefined;
  /** Of the last message of the chat that is here. */
  seq: number;
  isVisible: boolean;
}

type Word =
  /** `isNew`: it has to be told how things are. */
  | { kind: 'here'; tab: Tab; isNew: boolean }
  | { kind: 'gone'; id: string }
  /** This tab holds the stream from now on: all others say what they show. */
  | { kind: 'holds' }
  | { kind: 'event'; chat: string; event: ChatEvent }
  | { kind: 'connection'; connection: Connection; isVisible: boolean }
  | { kind: 'retry' | 'signed-out' };

interface TabsListener {
  connection(connection: Connection): void;
  signedOut(): void;
}

interface Followed {
  chat: string;
  seq: () => number;
  listener: (event: ChatEvent) => void;
}

const lock = 'hermetic-stream-1';
/** The gateway takes so many chats in one stream. */
const maxChats = 20;
/** Tabs that open together, or answer together, are one change. */
const gatherMs = 30;
/** When no tab can be seen, the stream is closed until one is. */
const hiddenMs = 30_000;

/**
 * All tabs of this browser share one stream, because a browser opens six connections to a server. One tab holds it,
 * by a lock of the browser, and passes events on. When that tab closes, the browser gives the lock to another one;
 * when it is frozen, a tab that can be seen takes it. Each tab knows the last message it has, so a new holder begins
 * there. Where the browser has no locks, each tab has a stream of its own.
 */
export class Tabs {
  readonly #listener: TabsListener;
  readonly #stream: Stream;
  readonly #id = Math.random().toString(36).slice(2);
  readonly #closing = new AbortController();
  readonly #channel = 'locks' in navigator && 'BroadcastChannel' in globalThis ? new BroadcastChannel(lock) : undefined;
  /** While this tab holds the stream: the other tabs, the one that spoke last at the end. */
  readonly #others = new Map<string, Tab>();
  #followed: Followed | undefined;
  #carried = '';
  #isHolder = false;
  #isResting = false;
  #letGo: () => void = () => undefined;
  #request: AbortController | undefined;
  #heardAt = 0;
  #gathering: ReturnType<typeof setTimeout> | undefined;
  #hiding: ReturnType<typeof setTimeout> | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;

  constructor(listener: TabsListener) {
    this.#listener = listener;
    this.#stream = new Stream(() => this.#wanted(), {
      event: (chat, event) => this.#passOn(chat, event),
      connection: (connection) => this.#tell(connection),
      signedOut: () => this.signOut(),
    });
    const { signal } = this.#closing;
    document.addEventListener('visibilitychange', () => this.#looked(), { signal });
    // A page that stood still has missed events.
    document.addEventListener('resume', () => this.#announce(true), { signal });
    addEventListener('pageshow', ({ persisted }) => persisted && this.#announce(true), { signal });
    addEventListener('online', this.retryNow, { signal });
    addEventListener('pagehide', () => this.#post({ kind: 'gone', id: this.#id }), { signal });
    if (this.#channel) {
      this.#channel.onmessage = ({ data }: MessageEvent<Word>) => this.#hear(data);
      this.#queue();
      this.#announce(true);
    } else this.#hold();
  }

  close(): void {
    this.#post({ kind: 'gone', id: this.#id });
    this.#closing.abort();
    this.#request?.abort();
    this.#stepDown();
    clearTimeout(this.#silence);
    this.#channel?.close();
  }

  /** The chat of this tab, and no other. Ends by what is returned. */
  follow(chat: string, seq: () => number, listener: (event: ChatEvent) => void): () => void {
    const followed = { chat, seq, listener };
    this.#followed = followed;
    this.#announce(true);
    return () => {
      if (this.#followed === followed) this.#followed = undefined;
    };
  }

  readonly retryNow = (): void => {
    if (!this.#isHolder) this.#post({ kind: 'retry' });
    else if (!this.#isResting) this.#stream.retryNow();
  };

  /** In all tabs. */
  signOut(): void {
    this.#post({ kind: 'signed-out' });
    this.#listener.signedOut();
  }

  #hear(word: Word): void {
    switch (word.kind) {
      case 'here':
        if (this.#isHolder) this.#note(word.tab, word.isNew);
        break;
      case 'gone':
        if (this.#isHolder && this.#others.delete(word.id)) this.#changed(false);
        break;
      case 'holds':
        // A holder learns by its lock that it is none any more.
        if (!this.#isHolder) this.#announce(true);
        break;
      case 'event':
        if (!this.#isHolder) this.#take(word.chat, word.event);
        break;
      case 'connection':
        if (!this.#isHolder) this.#heard(word.connection, word.isVisible);
        break;
      case 'retry':
        if (this.#isHolder) this.retryNow();
        break;
      case 'signed-out':
        this.#listener.signedOut();
        break;
    }
  }

  /** Waits for the lock, or takes it from its holder. */
  #queue(steal = false): void {
    this.#request?.abort();
    const request = new AbortController();
    this.#request = request;
    const { signal } = request;
    const held = (): Promise<void> | undefined => {
      if (signal.aborted) return undefined;
      this.#hold();
      return new Promise((resolve) => {
        this.#letGo = resolve;
      });
    };
    navigator.locks.request(lock, steal ? { steal } : { signal }, held).catch(() => {
      if (signal.aborted) return;
      // Another tab took it.
      this.#stepDown();
      this.#queue();
      this.#announce(true);
    });
  }

  #hold(): void {
    this.#isHolder = true;
    clearTimeout(this.#silence);
    this.#post({ kind: 'holds' });
    this.#changed(true);
  }

  #stepDown(): void {
    if (!this.#isHolder) return;
    this.#isHolder = false;
    this.#others.clear();
    this.#carried = '';
    for (const timer of [this.#gathering, this.#hiding]) clearTimeout(timer);
    this.#stream.close();
    this.#letGo();
  }

  #looked(): void {
    // A holder from which nothing was heard has closed the stream, because no tab could be seen, or stands still.
    const isSilent = performance.now() - this.#heardAt > silenceMs;
    if (this.#isHolder || document.hidden || !isSilent) this.#announce(false);
    else this.#queue(true);
  }

  get #own(): Tab {
    return { id: this.#id, chat: this.#followed?.chat, seq: this.#followed?.seq() ?? 0, isVisible: !document.hidden };
  }

  #announce(isNew: boolean): void {
    if (this.#isHolder) this.#changed(isNew);
    else {
      this.#post({ kind: 'here', tab: this.#own, isNew });
      this.#expectSoon();
    }
  }

  #note(tab: Tab, isNew: boolean): void {
    this.#others.delete(tab.id);
    this.#others.set(tab.id, tab);
    this.#changed(isNew);
  }

  /** Opens the stream anew where that is needed, and closes it when no tab can be seen. */
  #changed(isNew: boolean): void {
    clearTimeout(this.#hiding);
    if (!this.#tabs().some(({ isVisible }) => isVisible)) {
      this.#hiding = setTimeout(() => {
        this.#isResting = true;
        this.#stream.close();
        this.#tell('connecting');
      }, hiddenMs);
    }
    if (!isNew && !this.#isResting && this.#carried === chatsIn(this.#wanted())) return;
    clearTimeout(this.#gathering);
    // The timers of a hidden tab may be a minute late.
    if (document.hidden) this.#open();
    else this.#gathering = setTimeout(() => this.#open(), gatherMs);
  }

  #open(): void {
    this.#isResting = false;
    this.#carried = chatsIn(this.#wanted());
    this.#stream.open();
  }

  /** Those that can be seen first, then those that spoke last. */
  #tabs(): Tab[] {
    return [this.#own, ...[...this.#others.values()].reverse()].sort((one, other) => Number(other.isVisible) - Number(one.isVisible));
  }

  /** Of a chat in several tabs, from the lowest of their numbers on: a message that arrives twice changes nothing. */
  #wanted(): Map<string, number> {
    const chats = new Map<string, number>();
    for (const { chat, seq } of this.#tabs()) {
      if (chat !== undefined && (chats.has(chat) || chats.size < maxChats)) chats.set(chat, Math.min(seq, chats.get(chat) ?? seq));
    }
    return chats;
  }

  #passOn(chat: string, event: ChatEvent): void {
    for (const tab of this.#others.values())
      if (tab.chat === chat && event.kind === 'message') tab.seq = Math.max(tab.seq, event.message.seq);
    this.#take(chat, event);
    this.#post({ kind: 'event', chat, event });
  }

  #take(chat: string, event: ChatEvent): void {
    if (this.#followed?.chat === chat) this.#followed.listener(event);
  }

  #tell(connection: Connection): void {
    this.#listener.connection(connection);
    this.#post({ kind: 'connection', connection, isVisible: !document.hidden });
  }

  #heard(connection: Connection, isVisible: boolean): void {
    this.#heardAt = performance.now();
    this.#listener.connection(connection);
    this.#expectSoon();
    // The browser slows the timers of hidden tabs, so that it would notice late that the gateway is back.
    if (connection === 'waiting' && !isVisible && !document.hidden) this.#queue(true);
  }

  /** Takes the stream when its holder says nothing, such as one that the browser has frozen. */
  #expectSoon(): void {
    clearTimeout(this.#silence);
    if (document.hidden || !this.#channel) return;
    // Tabs that wait together do not take it from each other.
    const waitMs = silenceMs + Math.random() * 400;
    this.#silence = setTimeout(() => {
      this.#listener.connection('waiting');
      this.#queue(true);
    }, waitMs);
  }

  #post(word: Word): void {
    // Signing out is heard of from the stream and from the answer, of which the first closes this.
    if (!this.#closing.signal.aborted) this.#channel?.postMessage(word);
  }
}

function chatsIn(chats: ReadonlyMap<string, number>): string {
  return [...chats.keys()].sort().join(' ');
}
