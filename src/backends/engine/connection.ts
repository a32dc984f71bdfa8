import http from 'node:http';
import https from 'node:https';
import { isIP, type Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { HermeticError } from '../../core/errors.ts';
import { ByteStore } from '../../lib/byte-store.ts';
import { abortAfter } from '../../lib/deadline.ts';
import { sendRequest } from '../../lib/send-request.ts';
import { addressText, type EngineAddress } from './address.ts';
import { connectionError, refusalError } from './engine-errors.ts';
import { errnoOf } from './errno.ts';
import type { EngineProduct } from './product.ts';
import type { SshWay } from './ssh-way.ts';

export interface CallOptions {
  signal?: AbortSignal | undefined;
  /** For the whole answer. 0 is no deadline. */
  timeoutMs?: number | undefined;
}

export type Method = 'GET' | 'POST' | 'DELETE';

const defaultTimeoutMs = 60_000;
const oldestVersion = 41;
/** The newest 1.x this code was written against. Newer engines still serve it. */
const newestVersion = 47;

/** The types of Node lack what `tls.connect` takes. */
type Target = https.RequestOptions & { secureContext?: SecureContext };

/** HTTP calls to one engine, in the API version both sides know. Construction does no input or output. */
export class Connection {
  readonly address: EngineAddress;
  readonly product: EngineProduct;
  /** As `DOCKER_HOST` would say it. */
  readonly where: string;
  readonly #agent: http.Agent;
  readonly #target: Target;
  readonly #request: typeof https.request;
  #prefix: Promise<string> | undefined;
  #isLibpod = false;

  constructor(address: EngineAddress, product: EngineProduct) {
    this.address = address;
    this.product = product;
    this.where = addressText(address);
    this.#target = targetOf(address);
    const client = address.kind === 'tcp' && address.tls ? https : http;
    this.#request = client.request;
    // Two connections wait for the next calls; more than that are wanted only for a moment.
    this.#agent = new client.Agent({ keepAlive: true, maxFreeSockets: 2 });
    if (this.#target.createConnection) this.#agent.createConnection = this.#target.createConnection;
  }

  /** Closes idle connections. The engine can be used again. */
  close(): void {
    this.#agent.destroy();
    if (this.address.kind === 'ssh') this.address.way.close();
  }

  /** Resolves with the API version agreed on, such as `1.41`. */
  async ping(options: CallOptions = {}): Promise<string> {
    const { headers } = await this.#answer('GET', '/_ping', undefined, options);
    const version = String(headers['api-version']);
    const minor = Number(/^1\.(\d+)$/.exec(version)?.[1]);
    if (Number.isNaN(minor)) {
      throw new HermeticError('backend/not-running', `The program at ${this.where} is not a ${this.product.name} engine.`);
    }
    if (minor < oldestVersion) {
      const { name, oldest } = this.product;
      const message = `The ${name} engine at ${this.where} is too old: it speaks API ${version}, and 1.${oldestVersion} is needed.`;
      throw new HermeticError('backend/unavailable', message, { hint: `Update the ${name} engine to ${oldest} or newer.` });
    }
    this.#isLibpod = headers['libpod-api-version'] !== undefined;
    const agreed = `1.${Math.min(minor, newestVersion)}`;
    this.#prefix = Promise.resolve(`/v${agreed}`);
    return agreed;
  }

  /** Whether it is the engine of podman that answers. */
  async isLibpod(): Promise<boolean> {
    await this.#versionPrefix();
    return this.#isLibpod;
  }

  /** One call with a JSON answer; `undefined` when the engine answers with nothing. */
  async request<T>(method: Method, path: string, body?: unknown, options: CallOptions = {}): Promise<T> {
    const { text } = await this.#answer(method, (await this.#versionPrefix()) + path, body, options);
    try {
      return (text === '' ? undefined : JSON.parse(text)) as T;
    } catch (error) {
      throw new HermeticError('backend/unavailable', `The engine at ${this.where} answered ${path} with something that is not JSON.`, {
        cause: error,
      });
    }
  }

  /** Resolves when the engine has accepted; the body is the caller's to read. `signal` ends that too. */
  async stream(method: Method, path: string, options: { signal: AbortSignal }): Promise<http.IncomingMessage> {
    const prefix = await this.#versionPrefix();
    return await this.#explained(options.signal, async (signal) => {
      const response = await this.#send(method, prefix + path, undefined, signal);
      if (!isSuccess(response)) {
        throw refusalError(response.statusCode ?? 0, messageOf(await textOf(response)), this.product);
      }
      return response;
    });
  }

  /** Turns the connection of one call into a raw socket. `options` count until then. Never repeated. */
  async hijack(path: string, body: unknown, options: CallOptions = {}): Promise<Socket> {
    const prefix = await this.#versionPrefix();
    return this.#within(options, (signal) => {
      const { promise, resolve, reject } = Promise.withResolvers<Socket>();
      const payload = Buffer.from(JSON.stringify(body));
      const headers = { ...headersFor(payload), Connection: 'Upgrade', Upgrade: 'tcp' };
      // Node asks `createConnection` only where no agent is mentioned.
      const agent = this.#target.createConnection ? undefined : false;
      const request = this.#request({ ...this.#target, agent, method: 'POST', path: prefix + path, headers, signal });
      request.on('upgrade', (_response, socket: Socket, head) => {
        if (head.length > 0) {
          socket.unshift(head);
        }
        socket.setNoDelay(true);
        resolve(socket);
      });
      request.on('response', (response) => {
        textOf(response).then((text) => reject(refusalError(response.statusCode ?? 0, messageOf(text), this.product)), reject);
      });
      request.on('error', reject);
      request.end(payload);
      return promise;
    });
  }

  #versionPrefix(): Promise<string> {
    if (!this.#prefix) {
      // Callers share this answer, so no single caller's signal may end it.
      const asked = this.ping({ timeoutMs: 10_000 }).then((version) => `/v${version}`);
      asked.catch(() => {
        this.#prefix = undefined;
      });
      this.#prefix = asked;
    }
    return this.#prefix;
  }

  #answer(method: Method, path: string, body: unknown, options: CallOptions): Promise<{ text: string; headers: http.IncomingHttpHeaders }> {
    return this.#within(options, async (signal) => {
      const response = await this.#send(method, path, body, signal);
      const text = await textOf(response);
      if (!isSuccess(response)) {
        throw refusalError(response.statusCode ?? 0, messageOf(text), this.product);
      }
      return { text, headers: response.headers };
    });
  }

  async #send(method: Method, path: string, body: unknown, signal: AbortSignal): Promise<http.IncomingMessage> {
    const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    for (;;) {
      const request = this.#request({ ...this.#target, agent: this.#agent, method, path, headers: headersFor(payload), signal });
      try {
        return await sendRequest(request, payload);
      } catch (error) {
        // An idle connection that the engine had closed says nothing about the engine. Only a call that changes nothing may be repeated.
        if (method !== 'GET' || !request.reusedSocket || errnoOf(error) !== 'ECONNRESET') {
          throw error;
        }
      }
    }
  }

  async #within<T>(options: CallOptions, act: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
    const late = (): HermeticError =>
      new HermeticError(
        'backend/not-running',
        `The ${this.product.name} engine at ${this.where} did not answer within ${timeoutMs / 1000} s.`,
        {
          hint: `Look at the engine with \`${this.product.kind} info\`; it may be overloaded or need a restart.`,
        },
      );
    const deadline = { ms: timeoutMs > 0 ? timeoutMs : undefined, signal: options.signal };
    return await abortAfter(deadline, (signal) => this.#explained(signal, act), late);
  }

  async #explained<T>(signal: AbortSignal, act: (signal: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await act(signal);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw error instanceof HermeticError ? error : connectionError(error, this.where, this.product);
    }
  }
}

function targetOf(address: EngineAddress): Target {
  if (address.kind === 'unix') return { socketPath: address.path };
  if (address.kind === 'ssh') return { createConnection: connector(address.way) };
  const { host, port, tls: secureContext } = address;
  if (!secureContext) return { host, port };
  // Security: said, because NODE_TLS_REJECT_UNAUTHORIZED changes the default of the first, and the Host header that of the second.
  return { host, port, secureContext, rejectUnauthorized: true, servername: isIP(host) ? '' : host };
}

function connector(way: SshWay): NonNullable<http.RequestOptions['createConnection']> {
  return (_, done) => {
    way.connect().then(
      (socket) => done(null, socket),
      (error: Error) => done(error, undefined as never),
    );
    return undefined;
  };
}

function headersFor(payload: Buffer | undefined): Record<string, string> {
  return { Host: 'docker', ...(payload && { 'Content-Type': 'application/json', 'Content-Length': String(payload.length) }) };
}

function isSuccess(response: http.IncomingMessage): boolean {
  const status = response.statusCode ?? 0;
  return (status >= 200 && status < 300) || status === 304;
}

async function textOf(response: http.IncomingMessage): Promise<string> {
  const bytes = new ByteStore();
  for await (const chunk of response) {
    bytes.push(chunk as Buffer);
  }
  return bytes.view().toString('utf8');
}

/** Engines answer errors as `{"message": …}`; what stands between us and them may not. */
function messageOf(text: string): string {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null && 'message' in parsed) {
      return String(parsed.message);
    }
    return text;
  } catch {
    return text;
  }
}
