import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http2 from 'node:http2';
import { createRequire } from 'node:module';
import { compileFunction } from 'node:vm';
import { LoopbackServer } from '../loopback-server.ts';

/** A call of a method of the vendor's protocol. */
export interface Call {
  /** By their names in small letters. */
  headers: Readonly<Record<string, string>>;
  /** Aborts when the client is gone or does not want the answer any more. */
  signal: AbortSignal;
}

/** Messages are those of the vendor's own protocol. A function that gives an iterable answers with a stream. */
// biome-ignore lint/suspicious/noExplicitAny: the types of the messages are not exported by the package
export type Method = (request: any, call: Call) => Promise<object> | AsyncIterable<object>;

/** How a server fails on purpose. */
export type Fault =
  | { status: number; message: string }
  /** Does it, and cuts the connection instead of answering. */
  | 'cut'
  /** Never answers. */
  | 'silence'
  /** What a proxy in between answers. */
  | 'html'
  | 'garbage';

/** A refusal with a status of gRPC. */
export class WireError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

interface MethodDefinition {
  name: string;
  requestType: { decode(bytes: Uint8Array): unknown };
  responseType: { encode(message: object): { finish(): Uint8Array }; fromPartial(message: object): object };
}

interface ServiceDefinition {
  fullName: string;
  methods: Record<string, MethodDefinition>;
}

/** The messages as the package itself writes and reads them. It does not export them. */
function definitionsOfThePackage(): { control: ServiceDefinition; worker: ServiceDefinition } {
  const require = createRequire(import.meta.url);
  const source = readFileSync(require.resolve('modal'), 'utf8');
  const exported = '\nreturn { control: ModalClientDefinition, worker: TaskCommandRouterDefinition };';
  return compileFunction(source + exported, ['require', 'module', 'exports'])(require, { exports: {} }, {});
}

export const { control, worker } = definitionsOfThePackage();

/** A server of one service, on loopback, without encryption. */
export class WireServer {
  readonly #loopback = new LoopbackServer(http2.createServer());
  readonly #faults = new Map<string, { fault: Fault; times: number }>();
  /** Of every call, in order. */
  readonly calls: { name: string; request: unknown; headers: Readonly<Record<string, string>> }[] = [];

  private constructor(service: ServiceDefinition, methods: Readonly<Record<string, Method>>) {
    const { server } = this.#loopback;
    server.on('session', (session) => session.on('error', () => undefined));
    server.on('stream', (stream, headers) => {
      stream.on('error', () => undefined);
      const path = String(headers[':path']);
      const found = Object.entries(service.methods).find(([, { name }]) => path === `/${service.fullName}/${name}`);
      const method = found && methods[found[0]];
      if (!found || !method) return finish(stream, 12, `the fake does not know ${path}`);
      this.#answer(stream, found[1], method, headersOf(headers)).catch(() => stream.destroy());
    });
  }

  static async start(service: ServiceDefinition, methods: Readonly<Record<string, Method>>): Promise<WireServer> {
    const server = new WireServer(service, methods);
    await server.#loopback.comeUp();
    return server;
  }

  get origin(): string {
    return this.#loopback.origin;
  }

  /** The next calls of this method fail in this way. */
  fail(name: string, fault: Fault, times = Number.POSITIVE_INFINITY): void {
    this.#faults.set(name, { fault, times });
  }

  heal(): void {
    this.#faults.clear();
  }

  /** Cuts every connection. New ones are taken. */
  cut(): void {
    this.#loopback.cutAll();
  }

  close(): Promise<void> {
    return this.#loopback.goDown();
  }

  async #answer(stream: http2.ServerHttp2Stream, definition: MethodDefinition, method: Method, headers: Call['headers']): Promise<void> {
    const { name } = definition;
    const request = definition.requestType.decode(await messageOf(stream));
    this.calls.push({ name, request, headers });
    const fault = this.#faultOf(name);
    if (fault === 'silence') return;
    if (fault === 'html') {
      stream.respond({ ':status': 502, 'content-type': 'text/html' });
      return void stream.end('<html><h1>Bad Gateway</h1></html>');
    }
    if (typeof fault === 'object') return finish(stream, fault.status, fault.message);
    const gone = new AbortController();
    stream.on('close', () => gone.abort());
    try {
      const answer = method(request, { headers, signal: gone.signal });
      const pieces = Symbol.asyncIterator in answer ? answer : onlyOne(answer);
      begin(stream);
      for await (const piece of pieces) {
        if (stream.destroyed) return;
        if (fault === 'cut') return stream.session?.destroy();
        const bytes = definition.responseType.encode(definition.responseType.fromPartial(piece)).finish();
        await send(stream, fault === 'garbage' ? Buffer.from('no message at all') : frame(bytes));
      }
      finish(stream, 0, '');
    } catch (error) {
      finish(stream, error instanceof WireError ? error.status : 13, String((error as Error).message));
    }
  }

  #faultOf(name: string): Fault | undefined {
    const planned = this.#faults.get(name);
    if (!planned || planned.times <= 0) return undefined;
    planned.times -= 1;
    return planned.fault;
  }
}

async function* onlyOne(answer: Promise<object>): AsyncGenerator<object> {
  yield await answer;
}

async function messageOf(stream: http2.ServerHttp2Stream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  // One byte says whether it is compressed, and four how long it is.
  return Buffer.concat(chunks).subarray(5);
}

function frame(bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

/** Resolves when more may be sent. */
async function send(stream: http2.ServerHttp2Stream, data: Buffer): Promise<void> {
  if (stream.write(data) || stream.destroyed) return;
  const settled = new AbortController();
  const events = ['drain', 'close'].map((event) => once(stream, event, settled));
  await Promise.race(events).catch(() => undefined);
  settled.abort();
  await Promise.allSettled(events);
}

function begin(stream: http2.ServerHttp2Stream): void {
  if (stream.destroyed || stream.headersSent) return;
  stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' }, { waitForTrailers: true });
}

function finish(stream: http2.ServerHttp2Stream, status: number, message: string): void {
  if (stream.destroyed) return;
  begin(stream);
  stream.once('wantTrailers', () => {
    if (!stream.destroyed) stream.sendTrailers({ 'grpc-status': String(status), 'grpc-message': encodeURI(message) });
  });
  stream.end();
}

function headersOf(headers: http2.IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}
