import http from 'node:http';
import type { Socket } from 'node:net';
import { HermeticError } from '../../core/errors.ts';
import { ByteStore } from '../../lib/byte-store.ts';
import { abortAfter } from '../../lib/deadline.ts';
import { connectionError, errnoOf, refusalError } from './engine-errors.ts';

export type EngineAddress = { kind: 'unix'; path: string } | { kind: 'tcp'; host: string; port: number };

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

/** HTTP calls to one engine, in the API version both sides know. Construction does no input or output. */
export class Connection {
  readonly address: EngineAddress;
  /** As `DOCKER_HOST` would say it. */
  readonly where: string;
  /** Two connections wait for the next calls; more than that are wanted only for a moment. */
  readonly #agent = new http.Agent({ keepAlive: true, maxFreeSockets: 2 });
  readonly #target: http.RequestOptions;
  #prefix: Promise<string> | undefined;

  constructor(address: EngineAddress) {
    this.address = address;
    this.where = address.kind === 'unix' ? `unix://${address.path}` : `tcp://${address.host}:${address.port}`;
    this.#target = address.kind === 'unix' ? { socketPath: address.path } : { host: address.host, port: address.port };
  }

  /** Closes idle connections. The engine can be used again. */
  close(): void {
    this.#agent.destroy();
  }

  /** Resolves with the API version agreed on, such as `1.41`. */
  async ping(options: CallOptions = {}): Promise<string> {
    const { headers } = await this.#answer('GET', '/_ping', undefined, options);
    const version = String(headers['api-version']);
    const minor = Number(/^1\.(\d+)$/.exec(version)?.[1]);
    if (Number.isNaN(minor)) {
      throw new HermeticError('backend/not-running', `The program at ${this.where} is not a Docker engine.`);
    }
    if (minor < oldestVersion) {
      const message = `The Docker engine at ${this.where} is too old: it speaks API ${version}, and 1.${oldestVersion} is needed.`;
      throw new HermeticError('backend/unavailable', message, { hint: 'Update the Docker engine to 20.10 or newer.' });
    }
    const agreed = `1.${Math.min(minor, newestVersion)}`;
    this.#prefix = Promise.resolve(`/v${agreed}`);
    return agreed;
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
        throw refusalError(response.statusCode ?? 0, messageOf(await textOf(response)));
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
      const request = http.request({ ...this.#target, agent: false, method: 'POST', path: prefix + path, headers, signal });
      request.on('upgrade', (_response, socket: Socket, head) => {
        if (head.length > 0) {
          socket.unshift(head);
        }
        socket.setNoDelay(true);
        resolve(socket);
      });
      request.on('response', (response) => {
        textOf(response).then((text) => reject(refusalError(response.statusCode ?? 0, messageOf(text))), reject);
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
        throw refusalError(response.statusCode ?? 0, messageOf(text));
      }
      return { text, headers: response.headers };
    });
  }

  async #send(method: Method, path: string, body: unknown, signal: AbortSignal): Promise<http.IncomingMessage> {
    const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    for (;;) {
      const request = http.request({ ...this.#target, agent: this.#agent, method, path, headers: headersFor(payload), signal });
      try {
        return await new Promise((resolve, reject) => {
          request.on('response', resolve);
          request.on('error', reject);
          request.end(payload);
        });
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
      new HermeticError('backend/not-running', `The Docker engine at ${this.where} did not answer within ${timeoutMs / 1000} s.`, {
        hint: 'Look at the engine with `docker info`; it may be overloaded or need a restart.',
      });
    const deadline = { ms: timeoutMs > 0 ? timeoutMs : undefined, signal: options.signal };
    return await abortAfter(deadline, (signal) => this.#explained(signal, act), late);
  }

  async #explained<T>(signal: AbortSignal, act: (signal: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await act(signal);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw error instanceof HermeticError ? error : connectionError(error, this.where);
    }
  }
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
