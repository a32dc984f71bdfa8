import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createSocketServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LoopbackServer, loopbackHttp } from '../loopback-server.ts';
import { type Accounts, RpcError, runMethod } from './methods.ts';
import { SignalWorld, us } from './world.ts';

/** One thing that goes wrong. */
export interface Failure {
  error?: { code: number; message: string; data?: unknown };
  status?: number;
  /** The connection ends: before anything happened, or after it and before the answer. */
  cut?: 'before' | 'after';
}

export type CallName = 'send' | 'edit' | 'getAttachment' | 'events' | 'listAccounts' | 'other';

interface Recorded {
  sequence: number;
  data: string;
}

type Receiver = (event: Recorded) => void;

interface Call {
  method: string;
  params: Record<string, unknown>;
}

/** A server on this machine that is to a program what signal-cli's daemon is, with `--receive-mode=on-connection`. */
export class FakeSignalDaemon {
  readonly world: SignalWorld;
  readonly accounts: Accounts = { all: [us.number ?? ''], isSingle: false };
  /** Every call that arrived, also those that failed. */
  readonly calls: Call[] = [];
  /** Ids that listeners came back with. */
  readonly resumed: (string | undefined)[] = [];
  /** Older versions number no events, and answer with the first of them. */
  isOld = false;
  readonly #directory = mkdtempSync(join(tmpdir(), 'signal-'));
  readonly #http = loopbackHttp((request, response) => this.#serve(request, response));
  readonly #unix = new LoopbackServer(
    createSocketServer((socket) => this.#serveSocket(socket)),
    this.socket,
  );
  readonly #failures = new Map<CallName, Failure[]>();
  readonly #receivers = new Set<Receiver>();
  readonly #events: Recorded[] = [];
  /** At Signal, for as long as nobody receives. */
  readonly #queue: string[] = [];
  #run = 1;

  private constructor() {
    this.world = new SignalWorld((event) => this.#arrive(JSON.stringify(event)));
  }

  static async start(): Promise<FakeSignalDaemon> {
    const daemon = new FakeSignalDaemon();
    await daemon.comeUp();
    return daemon;
  }

  get root(): string {
    return this.#http.origin;
  }

  get socket(): string {
    return join(this.#directory, 'socket');
  }

  get listeners(): number {
    return this.#receivers.size;
  }

  /** How much arrives again when somebody comes back with this id. */
  after(id: string | undefined): number {
    const last = this.#sequenceOf(id);
    return this.#queue.length + this.#events.filter(({ sequence }) => sequence > last).length;
  }

  /** What signal-cli delivers, whatever it is. */
  deliverRaw(data: string): void {
    this.#arrive(data);
  }

  /** The next call fails. */
  fail(name: CallName, failure: Failure): void {
    this.#failures.set(name, [...(this.#failures.get(name) ?? []), failure]);
  }

  cutAll(): void {
    for (const server of [this.#http, this.#unix]) server.cutAll();
  }

  /** Refuses connections and ends those there are. */
  async goDown(): Promise<void> {
    await Promise.all([this.#http.goDown(), this.#unix.goDown()]);
    // So that programs know it.
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Listens, at the same addresses as before. */
  async comeUp(): Promise<void> {
    await this.#http.comeUp();
    rmSync(this.socket, { force: true });
    await this.#unix.comeUp();
  }

  /** Ends, and is started again: the events that it remembered are gone. */
  async restart(): Promise<void> {
    await this.goDown();
    this.#run += 1;
    this.#events.length = 0;
    await this.comeUp();
  }

  async close(): Promise<void> {
    if (this.#http.isUp) await this.goDown();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #arrive(data: string): void {
    if (this.#receivers.size === 0) this.#queue.push(data);
    else this.#record(data);
  }

  #record(data: string): void {
    const event = { sequence: (this.#events.at(-1)?.sequence ?? 0) + 1, data };
    this.#events.push(event);
    for (const receive of this.#receivers) receive(event);
  }

  #receive(receiver: Receiver): () => void {
    this.#receivers.add(receiver);
    for (const data of this.#queue.splice(0)) this.#record(data);
    return () => void this.#receivers.delete(receiver);
  }

  #sequenceOf(id: string | undefined): number {
    const prefix = `${this.#run}-`;
    return id?.startsWith(prefix) ? Number(id.slice(prefix.length)) : 0;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', this.root);
    if (pathname === '/api/v1/check') response.writeHead(200).end();
    else if (pathname === '/api/v1/events' && request.method === 'GET') this.#serveEvents(request, response, searchParams.get('account'));
    else if (pathname !== '/api/v1/rpc' || request.method !== 'POST') response.writeHead(404).end();
    else if (request.headers['content-type'] !== 'application/json') response.writeHead(415).end();
    else {
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(piece as Buffer);
      const answer = this.#answer(Buffer.concat(pieces).toString(), request.socket);
      if (answer === undefined) return;
      if (typeof answer === 'number') response.writeHead(answer).end('<html>');
      else response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
    }
  }

  #serveEvents(request: IncomingMessage, response: ServerResponse, account: string | null): void {
    const failure = this.#failures.get('events')?.shift();
    if (failure) {
      response.writeHead(failure.status ?? 500).end();
      return;
    }
    if (!this.accounts.isSingle && !this.accounts.all.includes(account ?? '')) {
      response.writeHead(400).end();
      return;
    }
    const after = request.headers['last-event-id'] as string | undefined;
    this.resumed.push(after);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (!this.isOld) response.flushHeaders();
    const receive = ({ sequence, data }: Recorded): void => {
      response.write(`${this.isOld ? '' : `id:${this.#run}-${sequence}\n`}event:receive\ndata:${data}\n\n`);
    };
    if (after !== undefined && !this.isOld) {
      const last = this.#sequenceOf(after);
      for (const event of this.#events.filter(({ sequence }) => sequence > last)) receive(event);
    }
    response.once('close', this.#receive(receive));
    if (!this.isOld) response.write(':\n');
  }

  #serveSocket(socket: Socket): void {
    const write = (message: unknown): void => void socket.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
    socket.once(
      'close',
      this.#receive(({ data }) => write(`{"jsonrpc":"2.0","method":"receive","params":${data}}`)),
    );
    let rest = '';
    socket.setEncoding('utf8');
    socket.on('data', (piece) => {
      const lines = (rest + String(piece)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const answer = this.#answer(line, socket);
        if (typeof answer === 'string') write(answer);
        else if (answer !== undefined) socket.destroy();
      }
    });
  }

  /** A status instead of an answer; undefined when the connection ended. */
  #answer(text: string, socket: Socket): string | number | undefined {
    const { id, method, params } = JSON.parse(text) as Call & { id: unknown };
    this.calls.push({ method, params });
    const failure = this.#failures.get(nameOf(method, params))?.shift();
    if (failure?.cut === 'before') {
      socket.destroy();
      return undefined;
    }
    if (failure?.status !== undefined) return failure.status;
    if (failure?.error) return JSON.stringify({ jsonrpc: '2.0', id, error: { data: null, ...failure.error } });
    try {
      const result = runMethod(this.world, this.accounts, method, params);
      if (failure?.cut === undefined) return JSON.stringify({ jsonrpc: '2.0', id, result });
      socket.destroy();
      return undefined;
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return JSON.stringify({ jsonrpc: '2.0', id, error: { code: error.code, message: error.message, data: error.data } });
    }
  }
}

function nameOf(method: string, params: Record<string, unknown>): CallName {
  if (method === 'send') return params.editTimestamp === undefined ? 'send' : 'edit';
  return method === 'getAttachment' || method === 'listAccounts' ? method : 'other';
}
