import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Destination } from '../core/egress.ts';
import type { Owner } from './connection-owner.ts';

/** How long a client may take to read a refusal. */
const farewellMs = 5_000;
/** How long a host may take to read what a client sent before it left. */
const flushMs = 30_000;

/** A connection from inside a sandbox, and the connection that it leads to. */
export class Connection {
  readonly socket: Socket;
  readonly #gone = new AbortController();
  readonly #onGone: () => void;
  #timer: NodeJS.Timeout | undefined;
  #isHeld = false;
  /** The limit that is set now. */
  #limit: { ms: number; onTime: () => void } | undefined;
  #upstream: Socket | undefined;
  /** The client's side is closed. */
  #isClosed = false;
  /** The host that it leads to now, or waits for. */
  destination: Destination | undefined;
  /** The process inside that has its other end, once it was looked for and found. */
  owner: Owner | undefined;
  /** Of the command that it was last asked about for. */
  mark: string | undefined;
  /** Whether the TLS of its client is ended here; undefined when it is no tunnel. */
  isIntercepted: boolean | undefined;

  /** `onGone`: both connections are closed. */
  constructor(socket: Socket, onGone: () => void) {
    this.socket = socket;
    this.#onGone = onGone;
    // What one side still sends after the other has ended its half must arrive.
    socket.allowHalfOpen = true;
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.once('close', () => this.#clientClosed());
  }

  /** Aborted when the client has left or was cut off. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  get upstream(): Socket | undefined {
    return this.#upstream;
  }

  /** The connection to the host ends when the client leaves. */
  lead(upstream: Socket): void {
    this.#upstream = upstream;
    if (this.#gone.signal.aborted) upstream.destroy();
    upstream.once('close', () => {
      if (this.#upstream !== upstream) return;
      this.#upstream = undefined;
      if (this.#isClosed) this.#onGone();
    });
  }

  /** Does this after the time, unless another limit is set before. */
  limit(ms: number | undefined, onTime: () => void = () => this.cut()): void {
    this.#limit = ms === undefined ? undefined : { ms, onTime };
    this.#startTime();
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** While it is held, because people are asked about it, no time limit counts. After that the time begins anew. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    this.#startTime();
  }

  #startTime(): void {
    clearTimeout(this.#timer);
    if (!this.#limit || this.#isHeld || this.#gone.signal.aborted) return;
    const { ms, onTime } = this.#limit;
    this.#timer = setTimeout(() => {
      this.#limit = undefined;
      onTime();
    }, ms).unref();
  }

  /** Resets it, so that the program inside does not take it for an orderly end. */
  cut(): void {
    this.#leave();
    this.#upstream?.destroy();
    reset(this.socket);
  }

  /** Says this, then ends. */
  end(farewell: string | Buffer): void {
    this.limit(farewellMs);
    this.socket.end(farewell);
    // Bytes that are not read would reset the connection before the client has the answer.
    this.socket.resume();
  }

  #leave(): void {
    clearTimeout(this.#timer);
    this.#gone.abort();
  }

  #clientClosed(): void {
    this.#leave();
    this.#isClosed = true;
    const upstream = this.#upstream;
    if (!upstream) {
      this.#onGone();
      return;
    }
    if (!this.socket.readableEnded) {
      upstream.destroy();
      return;
    }
    upstream.destroySoon();
    const timer = setTimeout(() => upstream.destroy(), flushMs).unref();
    upstream.once('close', () => clearTimeout(timer));
  }
}

/** Closes a connection at once, so that the program inside sees an error and no orderly end. What is not sent yet is dropped. */
export function reset(socket: Socket): void {
  socket.on('error', () => undefined);
  // While its end waits to be sent, the kernel does not take a reset, and Node would leave the descriptor open. Inside TLS there is none.
  if (socket instanceof TLSSocket || (socket.writableEnded && !socket.writableFinished)) socket.destroy();
  else {
    // Node would first wait until everything is sent, for ever when the client does not read.
    socket.destroySoon = () => void socket.destroy();
    socket.resetAndDestroy();
  }
}
