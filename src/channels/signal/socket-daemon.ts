import { connect, type Socket } from 'node:net';
import { abortAfter } from '../../lib/deadline.ts';
import { CallError } from '../call-error.ts';
import { type CallOptions, callMs, type Daemon, type EventParts, tooLargeEvent } from './daemon.ts';
import { resultIn } from './failures.ts';
import { maxAnswerBytes, maxEventBytes } from './limits.ts';
import { LineReader } from './line-reader.ts';

const connectMs = 10_000;
/** The daemon ends its side when it delivers nothing more. */
const endMs = 1000;
/** Of events that arrived while nobody listened. */
const maxHeld = 1000;

/** signal-cli with `daemon --socket`. */
export class SocketDaemon implements Daemon {
  readonly #path: string;
  readonly #account: string;
  #wire: Wire | undefined;
  /** undefined while nobody listens. */
  #listener: ((content: string) => void) | undefined;
  #held: string[] = [];

  constructor(path: string, account: string) {
    this.#path = path;
    this.#account = account;
  }

  async call(
    method: string,
    params: Readonly<Record<string, unknown>>,
    { timeoutMs = callMs, signal }: CallOptions = {},
  ): Promise<unknown> {
    const request = { method, params: { account: this.#account, ...params } };
    try {
      return await abortAfter({ ms: timeoutMs, signal }, async (cancel) => {
        if (this.#wire) return await this.#wire.call(request, cancel);
        // The daemon hands everything that arrives to every connection, and maybe to no other one.
        const wire = await Wire.open(this.#path, (content) => this.#take(content), cancel);
        try {
          return await wire.call(request, cancel);
        } finally {
          wire.end();
        }
      });
    } catch (error) {
      signal?.throwIfAborted();
      throw error instanceof CallError ? error : new CallError('no answer in time', { isDoubtful: true });
    }
  }

  async serveEvents({ signal, onOpen, onEvent }: EventParts): Promise<void> {
    const wire = await Wire.open(this.#path, (content) => this.#take(content), signal);
    this.#wire = wire;
    onOpen();
    for (const content of this.#held.splice(0)) onEvent(content, undefined);
    this.#listener = (content) => onEvent(content, undefined);
    const stopListening = (): void => {
      this.#listener = undefined;
    };
    signal.addEventListener('abort', stopListening, { once: true });
    try {
      await wire.ended;
    } finally {
      signal.removeEventListener('abort', stopListening);
      this.#wire = undefined;
      this.#listener = undefined;
    }
    signal.throwIfAborted();
  }

  /** The same may arrive on two connections. */
  #take(content: string): void {
    if (this.#listener) this.#listener(content);
    else this.#held.push(content);
    if (this.#held.length > maxHeld) this.#held.shift();
  }
}

interface Waiting {
  resolve(answer: unknown): void;
  reject(error: unknown): void;
}

/** One connection: requests, their answers, and what arrives, a line each. */
class Wire {
  readonly #socket: Socket;
  readonly #onEvent: (content: string) => void;
  readonly #lines = new LineReader(maxAnswerBytes);
  readonly #waiting = new Map<number, Waiting>();
  readonly #ended = Promise.withResolvers<void>();
  #count = 0;

  private constructor(socket: Socket, onEvent: (content: string) => void, signal: AbortSignal) {
    this.#socket = socket;
    this.#onEvent = onEvent;
    const onAbort = (): void => this.end();
    signal.addEventListener('abort', onAbort, { once: true });
    socket.on('data', (piece) => this.#take(piece));
    socket.once('close', () => {
      signal.removeEventListener('abort', onAbort);
      for (const { reject } of this.#waiting.values()) reject(new CallError('no connection', { isDoubtful: true }));
      this.#waiting.clear();
      this.#ended.resolve();
    });
    if (signal.aborted) this.end();
  }

  static async open(path: string, onEvent: (content: string) => void, signal: AbortSignal): Promise<Wire> {
    signal.throwIfAborted();
    const socket = connect(path);
    // Whatever goes wrong is followed by `close`.
    let code = '';
    socket.on('error', (error: NodeJS.ErrnoException) => {
      code = error.code ?? '';
    });
    const opened = Promise.withResolvers<void>();
    const fail = (): void => opened.reject(new CallError(`no connection${code === '' ? '' : ` (${code})`}`));
    socket.once('connect', opened.resolve);
    socket.once('close', fail);
    const end = (): void => void socket.destroy();
    signal.addEventListener('abort', end, { once: true });
    const timer = setTimeout(end, connectMs);
    try {
      await opened.promise;
      return new Wire(socket, onEvent, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      clearTimeout(timer);
      socket.off('close', fail);
      signal.removeEventListener('abort', end);
    }
  }

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  async call({ method, params }: { method: string; params: object }, signal: AbortSignal): Promise<unknown> {
    this.#count += 1;
    const id = this.#count;
    const answer = Promise.withResolvers<unknown>();
    this.#waiting.set(id, answer);
    const onAbort = (): void => answer.reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (!this.#socket.writable) answer.reject(new CallError('no connection'));
    else this.#socket.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    try {
      return resultIn(await answer.promise);
    } finally {
      this.#waiting.delete(id);
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Takes what the daemon still has to say. */
  end(): void {
    this.#socket.end();
    const timer = setTimeout(() => this.#cut(), endMs);
    this.#socket.once('close', () => clearTimeout(timer));
  }

  #cut(): void {
    this.#socket.destroy();
  }

  /** Security: whatever arrives, nothing is thrown into the event loop, which would end the program. */
  #take(piece: Buffer): void {
    for (const line of this.#lines.push(piece)) {
      try {
        if (line === undefined) this.#onEvent(tooLargeEvent);
        else this.#takeLine(line);
      } catch {
        this.#cut();
        return;
      }
    }
  }

  #takeLine(line: string): void {
    if (line.trim() === '') return;
    const message = JSON.parse(line) as { id?: unknown; method?: unknown; params?: unknown } | null;
    if (typeof message !== 'object' || message === null) throw new Error('not JSON-RPC');
    if (message.method === undefined) {
      if (typeof message.id === 'number') this.#waiting.get(message.id)?.resolve(message);
    } else if (message.method === 'receive') {
      this.#onEvent(line.length > maxEventBytes ? tooLargeEvent : JSON.stringify(message.params ?? null));
    }
  }
}
