import { type GatewayDispatchPayload, GatewayIntentBits, GatewayOpcodes, type GatewayReadyDispatchData } from 'discord-api-types/v10';
import { WebSocket } from 'ws';

/** What can be resumed, so that nothing that happened meanwhile is lost. */
export interface Session {
  id: string;
  /** The last event that arrived. */
  sequence: number;
  address: string;
}

export interface WireParts {
  token: string;
  /** Where to connect, without what says which version is spoken. */
  address: string;
  /** undefined: begins a new session. */
  session: Session | undefined;
  onReady(ready: GatewayReadyDispatchData): void;
  onResumed(): void;
  /**
   * False when it was not taken: the connection is cut before this event, which comes again when the session is
   * resumed.
   */
  onEvent(event: GatewayDispatchPayload): boolean;
  signal: AbortSignal;
}

/** How a connection ended. */
export interface Ending {
  /** What Discord gave as the reason; undefined when the connection just ended. */
  code: number | undefined;
  /** undefined when a new session has to begin. */
  session: Session | undefined;
  /** An event was not taken. */
  isFull: boolean;
}

const intents =
  GatewayIntentBits.Guilds | GatewayIntentBits.GuildMessages | GatewayIntentBits.DirectMessages | GatewayIntentBits.MessageContent;
/** From the connection to the session. */
const openingMs = 30_000;
/** Larger than the largest server that Discord describes in one piece. */
const maxPayloadBytes = 64 * 1024 * 1024;
/** After these the session is over. */
const finalCodes: ReadonlySet<number> = new Set([1000, 1001, 4003, 4004, 4007, 4009, 4010, 4011, 4012, 4013, 4014]);
/** Says to Discord that the session may be resumed. */
const resumableClose = 4200;
const plainClose = 1000;

interface Payload {
  op: number;
  d: unknown;
  s?: number | null | undefined;
  t?: string | null | undefined;
}

/** One connection to Discord's gateway. Never rejects. */
export async function serveWire(parts: WireParts): Promise<Ending> {
  const address = addressOf(parts.session?.address ?? parts.address);
  return address ? await new Wire(parts, address).ended : { code: undefined, session: undefined, isFull: false };
}

/** undefined when nothing can be connected to there. */
function addressOf(text: string): URL | undefined {
  if (!URL.canParse(text)) return undefined;
  const address = new URL(text);
  if (!['ws:', 'wss:'].includes(address.protocol)) return undefined;
  address.hash = '';
  address.searchParams.set('v', '10');
  address.searchParams.set('encoding', 'json');
  return address;
}

class Wire {
  readonly #parts: WireParts;
  readonly #socket: WebSocket;
  readonly #ended = Promise.withResolvers<Ending>();
  readonly #timer: NodeJS.Timeout;
  #session: Session | undefined;
  #beat: NodeJS.Timeout | undefined;
  #isAnswered = true;
  #isOver = false;
  #isFull = false;

  constructor(parts: WireParts, address: URL) {
    this.#parts = parts;
    this.#session = parts.session;
    this.#socket = new WebSocket(address, { maxPayload: maxPayloadBytes, handshakeTimeout: openingMs, followRedirects: false });
    this.#socket.on('message', (data, isBinary) => this.#take(isBinary ? undefined : String(data)));
    this.#socket.on('error', () => undefined);
    this.#socket.on('close', (code) => this.#closed(code));
    this.#timer = setTimeout(() => this.#cut(), openingMs);
    parts.signal.addEventListener('abort', this.#stop, { once: true });
    if (parts.signal.aborted) this.#stop();
  }

  get ended(): Promise<Ending> {
    return this.#ended.promise;
  }

  readonly #stop = (): void => {
    this.#socket.close(plainClose);
    this.#cut();
  };

  /** Security: whatever arrives, nothing is thrown into the library, which would end the program. */
  #take(text: string | undefined): void {
    // The library may have more of them already.
    if (this.#isFull) return;
    try {
      this.#handle(JSON.parse(text ?? '') as Payload);
    } catch {
      this.#cut();
    }
  }

  #handle({ op, d, s, t }: Payload): void {
    if (op === GatewayOpcodes.Dispatch) this.#dispatch({ op, d, s, t });
    else if (op === GatewayOpcodes.Hello) this.#hello((d as { heartbeat_interval: number }).heartbeat_interval);
    else if (op === GatewayOpcodes.Heartbeat) this.#sendBeat();
    else if (op === GatewayOpcodes.HeartbeatAck) this.#isAnswered = true;
    else if (op === GatewayOpcodes.Reconnect) this.#socket.close(resumableClose);
    else if (op === GatewayOpcodes.InvalidSession) {
      if (d !== true) this.#session = undefined;
      this.#socket.close(resumableClose);
    }
  }

  #hello(intervalMs: number): void {
    if (!(intervalMs >= 1)) throw new Error('no interval');
    const beat = (): void => {
      if (!this.#isAnswered) {
        this.#cut();
        return;
      }
      this.#isAnswered = false;
      this.#sendBeat();
      this.#beat = setTimeout(beat, intervalMs);
    };
    clearTimeout(this.#beat);
    this.#beat = setTimeout(beat, intervalMs * Math.random());
    const { token } = this.#parts;
    const session = this.#session;
    if (session) this.#send(GatewayOpcodes.Resume, { token, session_id: session.id, seq: session.sequence });
    else {
      const properties = { os: process.platform, browser: 'hermetic', device: 'hermetic' };
      this.#send(GatewayOpcodes.Identify, { token, intents, properties });
    }
  }

  #dispatch({ d, s, t }: Payload): void {
    if (t === 'READY') {
      const ready = d as GatewayReadyDispatchData;
      this.#session = { id: ready.session_id, sequence: s ?? 0, address: ready.resume_gateway_url };
      clearTimeout(this.#timer);
      this.#parts.onReady(ready);
    } else if (t === 'RESUMED') {
      clearTimeout(this.#timer);
      this.#parts.onResumed();
    } else if (!this.#parts.onEvent({ op: GatewayOpcodes.Dispatch, d, s, t } as GatewayDispatchPayload)) {
      this.#isFull = true;
      this.#cut();
      return;
    }
    if (this.#session && typeof s === 'number') this.#session = { ...this.#session, sequence: s };
  }

  #sendBeat(): void {
    this.#send(GatewayOpcodes.Heartbeat, this.#session?.sequence ?? null);
  }

  #send(op: GatewayOpcodes, d: unknown): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ op, d }), () => undefined);
  }

  /** Without waiting for the other side. */
  #cut(): void {
    this.#socket.terminate();
  }

  #closed(code: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#beat);
    this.#parts.signal.removeEventListener('abort', this.#stop);
    // 1005 and 1006 are no words of Discord: the connection ended without any.
    const said = code === 1005 || code === 1006 ? undefined : code;
    this.#ended.resolve({
      code: said,
      session: said !== undefined && finalCodes.has(said) ? undefined : this.#session,
      isFull: this.#isFull,
    });
  }
}
