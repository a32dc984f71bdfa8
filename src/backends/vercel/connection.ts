import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { HermeticError } from '../../core/errors.ts';
import { ByteStore } from '../../lib/byte-store.ts';
import { sendRequest } from '../../lib/send-request.ts';
import { connectionError, refusalError, senselessError } from './api-errors.ts';
import type { VercelCredentials } from './credentials.ts';

/** The address that the package has built in. */
const packageRoot = 'https://vercel.com/api';
/** Security: a server may answer without end. */
const maxAnswerBytes = 8 * 1024 * 1024;
const maxRefusalBytes = 64 * 1024;

export interface RequestParts {
  body?: string | Uint8Array | undefined;
  headers?: Readonly<Record<string, string>>;
  signal: AbortSignal | undefined;
}

/** By this name the package knows that it must not repeat a request. Security: a command or a sandbox that is asked for again comes twice. */
class GivenUp extends Error {
  override readonly name = 'AbortError';
}

/** Requests to Vercel. Every one goes through `send`: credentials, address, errors. Construction does no input or output. */
export class VercelConnection {
  readonly #credentials: () => VercelCredentials;
  readonly #root: string;
  readonly #agent: http.Agent;
  #clockAheadMs = 0;

  constructor(credentials: () => VercelCredentials, root: string = packageRoot) {
    this.#credentials = credentials;
    this.#root = root.replace(/\/$/, '');
    const options = { keepAlive: true, maxFreeSockets: 4 };
    this.#agent = root.startsWith('https:') ? new https.Agent(options) : new http.Agent(options);
  }

  /**
   * What the package is given with each call. Security: the token is put on here, so that the package, which would look for a newer one in files
   * and ask others for it, has none.
   */
  parameters(): { token: string; teamId: string; projectId: string; fetch: typeof globalThis.fetch } {
    const { teamId, projectId } = this.#credentials();
    return { token: 'not-here', teamId, projectId, fetch: (url, options) => this.#fetch(String(url), options ?? {}) };
  }

  /** The time of the server. */
  now(): number {
    return Date.now() + this.#clockAheadMs;
  }

  /** The path of a request beside those of the package. */
  path(path: string): string {
    return `${path}?${new URLSearchParams({ teamId: this.#credentials().teamId })}`;
  }

  /** Security: everyone on the way would see the token. */
  #refuseOpenText(): void {
    const { protocol, hostname } = new URL(this.#root);
    if (protocol === 'https:' || ['127.0.0.1', '[::1]', 'localhost'].includes(hostname)) return;
    throw new HermeticError('config/bad-value', 'terminal.vercel_api_root must begin with https:// for a server that is not this machine.');
  }

  /** Resolves with the beginning of an answer that is no refusal. Never sends anything twice. */
  async send(method: string, path: string, { body, headers = {}, signal }: RequestParts): Promise<IncomingMessage> {
    this.#refuseOpenText();
    const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
    const authorization = { Authorization: `Bearer ${this.#credentials().token}`, 'User-Agent': 'hermetic' };
    const { request } = this.#root.startsWith('https:') ? https : http;
    const options = { method, agent: this.#agent, headers: { ...headers, ...length, ...authorization }, signal };
    const response = await sendRequest(request(`${this.#root}${path}`, options), body).catch((error: unknown) => {
      throw signal?.aborted ? signal.reason : connectionError(error, new URL(this.#root).host);
    });
    const time = Date.parse(response.headers.date ?? '');
    if (!Number.isNaN(time)) this.#clockAheadMs = time - Date.now();
    const { statusCode = 0 } = response;
    // Security: a redirect is a refusal. Followed, it would take the token along.
    if (statusCode >= 200 && statusCode < 300) return response;
    throw refusalError(statusCode, (await bytesOf(response, maxRefusalBytes)).toString(), response.headers['retry-after']);
  }

  /** For the package: with the whole answer, so that none of its errors comes later. */
  async #fetch(url: string, { method = 'GET', body, headers, signal }: RequestInit): Promise<Response> {
    try {
      if (!url.startsWith(`${packageRoot}/`)) throw senselessError(new Error('the package asks for another address'));
      const { Authorization: _, ...others } = headers as Record<string, string>;
      const parts = { body: body as string | Uint8Array | undefined, headers: others, signal: signal ?? undefined };
      const response = await this.send(method, url.slice(packageRoot.length), parts);
      const type = response.headers['content-type'] ?? '';
      return new Response(await bytesOf(response, maxAnswerBytes), { status: 200, headers: { 'content-type': type } });
    } catch (error) {
      throw new GivenUp('given up', { cause: error });
    }
  }
}

/** What a call of the package really failed with. */
export function realError(error: unknown): HermeticError {
  const cause = error instanceof GivenUp ? error.cause : error;
  return cause instanceof HermeticError ? cause : senselessError(cause);
}

async function bytesOf(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const bytes = new ByteStore(maxBytes);
  try {
    for await (const chunk of response) if (!bytes.push(chunk as Buffer)) throw senselessError(new Error('it is too long'));
  } catch (error) {
    throw error instanceof HermeticError ? error : connectionError(error, 'its address');
  }
  return bytes.view();
}
