import { WebSocket } from 'ws';

/** Something that Slack delivers and wants to be told that it arrived. */
export interface Envelope {
  id: string;
  type: string;
  payload: unknown;
  /** Tells Slack that it arrived, with what to show when that is possible. More than once is no harm. */
  answer(shown?: object): void;
  /** It was not taken, and is never answered: Slack delivers a message again. */
  refuse(): void;
}

export interface WireParts {
  address: string;
  onHello(): void;
  onEnvelope(envelope: Envelope): void;
  signal: AbortSignal;
  /** How often the other side has to show that it is there. */
  pulseMs?: number;
}

/** How a connection ended, or that Slack is about to end it. */
export type Outcome = 'leaving' | 'ended' | 'disabled';

/** From the connection to the first word of Slack. */
const openingMs = 30_000;
const defaultPulseMs = 15_000;
const maxPayloadBytes = 16 * 1024 * 1024;
/** So long may a connection that was replaced be used to say what arrived on it. */
const lastAnswersMs = 5_000;
const closingMs = 1_000;
const plainClose = 1000;

interface Words {
  type?: unknown;
  reason?: unknown;
  envelope_id?: unknown;
  payload?: unknown;
  accepts_response_payload?: unknown;
}

/** One connection to Slack, by Socket Mode. */
export class Wire {
  readonly #parts: WireParts;
  readonly #socket: WebSocket;
  readonly #outcome = Promise.withResolvers<Outcome>();
  readonly #closed = Promise.withResolvers<void>();
  readonly #unanswered = new Set<string>();
  readonly #opening: NodeJS.Timeout;
  #pulse: NodeJS.Timeout | undefined;
  #closing: NodeJS.Timeout | undefined;
  #isHeard = true;
  #isRetired = false;

  constructor(parts: WireParts) {
    this.#parts = parts;
    this.#socket = new WebSocket(parts.address, { maxPayload: maxPayloadBytes, handshakeTimeout: openingMs, followRedirects: false });
    this.#socket.on('message', (data, isBinary) => this.#take(isBinary ? undefined : String(data)));
    this.#socket.on('ping', this.#hear);
    this.#socket.on('pong', this.#hear);
    this.#socket.on('error', () => undefined);
    this.#socket.on('close', () => this.#end());
    this.#opening = setTimeout(() => this.#cut(), openingMs);
    parts.signal.addEventListener('abort', this.#stop, { once: true });
    if (parts.signal.aborted) this.#stop();
  }

  /** Resolves once. A connection that is about to be left still delivers. */
  get outcome(): Promise<Outcome> {
    return this.#outcome.promise;
  }

  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  /** Another one has taken over. Ends when everything that arrived was answered, or soon. */
  retire(): void {
    if (this.#socket.readyState === WebSocket.CLOSED) return;
    this.#isRetired = true;
    this.#closing ??= setTimeout(() => this.#cut(), lastAnswersMs);
    if (this.#unanswered.size === 0) this.#close();
  }

  readonly #stop = (): void => {
    this.#socket.close(plainClose);
    this.#cut();
  };

  readonly #hear = (): void => {
    this.#isHeard = true;
  };

  /** Security: whatever arrives, nothing is thrown into the library, which would end the program. */
  #take(text: string | undefined): void {
    this.#hear();
    try {
      const words: unknown = JSON.parse(text ?? '');
      if (typeof words !== 'object' || words === null) throw new Error('no words of Slack');
      this.#handle(words);
    } catch {
      this.#cut();
    }
  }

  #handle({ type, reason, envelope_id: id, payload, accepts_response_payload: mayShow }: Words): void {
    if (type === 'hello') this.#hello();
    else if (type === 'disconnect') this.#outcome.resolve(reason === 'link_disabled' ? 'disabled' : 'leaving');
    else if (typeof id === 'string' && id !== '' && typeof type === 'string') {
      this.#unanswered.add(id);
      const answer = (shown?: object): void => this.#answer(id, mayShow === true ? shown : undefined);
      this.#parts.onEnvelope({ id, type, payload, answer, refuse: () => this.#forget(id) });
    }
  }

  #hello(): void {
    if (this.#pulse) return;
    clearTimeout(this.#opening);
    this.#pulse = setInterval(() => this.#feelPulse(), this.#parts.pulseMs ?? defaultPulseMs);
    this.#parts.onHello();
  }

  #feelPulse(): void {
    if (!this.#isHeard) {
      this.#cut();
      return;
    }
    this.#isHeard = false;
    if (this.isOpen) this.#socket.ping(undefined, undefined, () => undefined);
  }

  #answer(id: string, payload: object | undefined): void {
    if (!this.#unanswered.has(id)) return;
    if (this.isOpen) this.#socket.send(JSON.stringify({ envelope_id: id, ...(payload && { payload }) }), () => undefined);
    this.#forget(id);
  }

  #forget(id: string): void {
    this.#unanswered.delete(id);
    if (this.#isRetired && this.#unanswered.size === 0) this.#close();
  }

  /** Slack does not always end the connection itself. */
  #close(): void {
    this.#socket.close(plainClose);
    clearTimeout(this.#closing);
    this.#closing = setTimeout(() => this.#cut(), closingMs);
  }

  #cut(): void {
    this.#socket.terminate();
  }

  #end(): void {
    clearTimeout(this.#opening);
    clearInterval(this.#pulse);
    clearTimeout(this.#closing);
    this.#parts.signal.removeEventListener('abort', this.#stop);
    this.#outcome.resolve('ended');
    this.#closed.resolve();
  }
}
