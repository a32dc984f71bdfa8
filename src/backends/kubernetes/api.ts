import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import { HermeticError } from '../../core/errors.ts';
import { ByteStore } from '../../lib/byte-store.ts';
import { abortAfter } from '../../lib/deadline.ts';
import { sendRequest } from '../../lib/send-request.ts';
import { refusedStatus } from '../refusal.ts';
import { connectionError, refusalError } from './api-errors.ts';
import type { Access, Credentials } from './credentials.ts';
import type { KubernetesObject } from './objects.ts';

export interface CallOptions {
  signal?: AbortSignal | undefined;
  /** For the whole answer. */
  timeoutMs?: number | undefined;
}

export type Method = 'GET' | 'POST' | 'DELETE';
export type Query = Readonly<Record<string, string>>;

export interface Listed<Item> {
  items: readonly Item[];
  resourceVersion: string;
}

export interface WatchEvent {
  type: string;
  object: KubernetesObject & { code?: number; message?: string };
}

const defaultTimeoutMs = 30_000;
/** Security: a server may answer without end. */
const maxAnswerBytes = 32 * 1024 * 1024;
const maxRefusalBytes = 64 * 1024;
const maxEventBytes = 4 * 1024 * 1024;
const pageSize = 500;
/** Longer lists are not believed. */
const maxPages = 100;
/** A server tells how far it is about once a minute; one that says nothing for so long is gone. */
const quietMs = 150_000;

/** Requests to one API server. Every one goes through `send`: credentials, certificates, errors. Construction does no input or output. */
export class KubernetesApi {
  readonly #credentials: Credentials;
  readonly #agent = new https.Agent({ keepAlive: true, maxFreeSockets: 2 });

  constructor(credentials: Credentials) {
    this.#credentials = credentials;
  }

  /** Where the server is, as far as that is known. */
  async where(): Promise<string> {
    return (await this.#credentials.access()).server;
  }

  /** One call with a JSON answer. */
  async request<T>(method: Method, path: string, body?: unknown, options: CallOptions = {}): Promise<T> {
    const { timeoutMs = defaultTimeoutMs, signal } = options;
    const late = (): HermeticError =>
      new HermeticError('backend/not-running', `The Kubernetes API did not answer within ${timeoutMs / 1000} s.`, {
        hint: 'The cluster may be overloaded or not reachable.',
      });
    const text = await abortAfter(
      { ms: timeoutMs, signal },
      async (ending) =>
        await this.#explained(ending, async () => await textOf(await this.#send(method, path, body, ending), maxAnswerBytes)),
      late,
    );
    try {
      const answer: unknown = JSON.parse(text);
      if (typeof answer !== 'object' || answer === null) throw new TypeError('it is not an object');
      return answer as T;
    } catch (error) {
      throw new HermeticError('backend/unavailable', `The Kubernetes API answered ${path} with something that is not JSON.`, {
        cause: error,
      });
    }
  }

  /** All items, by as many calls as that takes. */
  async list<Item extends KubernetesObject>(path: string, query: Query, options: CallOptions = {}): Promise<Listed<Item>> {
    const items: Item[] = [];
    let page: Query = {};
    for (let pages = 0; pages < maxPages; pages++) {
      const words = new URLSearchParams({ ...query, limit: String(pageSize), ...page });
      const answer = await this.request<{ items?: Item[] | null; metadata?: { continue?: string; resourceVersion?: string } }>(
        'GET',
        `${path}?${words}`,
        undefined,
        options,
      );
      // Security: half a list would make what is missing from it look gone.
      if (!Array.isArray(answer.items) || typeof answer.metadata?.resourceVersion !== 'string') throw noList(path);
      items.push(...answer.items);
      if (!answer.metadata.continue) return { items, resourceVersion: answer.metadata.resourceVersion };
      page = { continue: answer.metadata.continue };
    }
    throw noList(path);
  }

  /**
   * What changes from this version on, until the server ends it, which it does from time to time. Rejects for what is no event. It does not keep
   * the program running.
   */
  async *watch(path: string, query: Query, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    const words = new URLSearchParams({ ...query, watch: '1', allowWatchBookmarks: 'true' });
    const response = await abortAfter(
      { ms: defaultTimeoutMs, signal },
      async (ending) => await this.#explained(ending, () => this.#send('GET', `${path}?${words}`, undefined, ending)),
      () => new HermeticError('backend/not-running', 'The Kubernetes API did not begin a watch.'),
    );
    const end = (): void => void response.destroy();
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    response.socket.unref();
    response.setTimeout(quietMs, end);
    const rest = new ByteStore(maxEventBytes);
    try {
      for await (const chunk of response) {
        if (!rest.push(chunk as Buffer)) throw new Error('an event is too long');
        for (let at = rest.view().indexOf(10); at !== -1; at = rest.view().indexOf(10)) {
          const text = rest.view(0, at).toString();
          rest.drop(at + 1);
          if (text.trim() !== '') yield eventOf(text);
        }
      }
    } finally {
      signal.removeEventListener('abort', end);
      response.destroy();
    }
  }

  /** For a connection of another kind to the same server. */
  async target(path: string): Promise<{ url: string; options: https.RequestOptions }> {
    const access = await this.#credentials.access();
    return { url: `${access.server}${path}`, options: { ...tlsOf(access), headers: headersOf(access, undefined) } };
  }

  /** Called when the server has refused the credentials of a `target`. */
  renewCredentials(): void {
    this.#credentials.renew();
  }

  /** Resolves when the server has accepted. A refused credential is renewed once: the request had no effect then. */
  async #send(method: Method, path: string, body: unknown, signal: AbortSignal): Promise<IncomingMessage> {
    for (let attempt = 1; ; attempt++) {
      const response = await this.#sendOnce(await this.#credentials.access(), method, path, body, signal);
      const status = response.statusCode ?? 0;
      if (status >= 200 && status < 300) return response;
      const refusal = refusalError(status, await textOf(response, maxRefusalBytes));
      if (refusedStatus(refusal) !== 401 || attempt > 1) throw refusal;
      this.#credentials.renew();
    }
  }

  async #sendOnce(access: Access, method: Method, path: string, body: unknown, signal: AbortSignal): Promise<IncomingMessage> {
    const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    for (;;) {
      // Security: a redirect is a refusal. Followed, it would take the credentials along.
      const options = { ...tlsOf(access), agent: this.#agent, method, headers: headersOf(access, payload), signal };
      const request = https.request(`${access.server}${path}`, options);
      try {
        return await sendRequest(request, payload);
      } catch (error) {
        // An idle connection that the server had closed says nothing about it. Only a call that changes nothing may be repeated.
        const isStale = request.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET';
        if (method !== 'GET' || !isStale) throw error;
      }
    }
  }

  async #explained<T>(signal: AbortSignal, act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw error instanceof HermeticError ? error : connectionError(error, await this.where().catch(() => 'its address'));
    }
  }
}

function tlsOf({ ca, certificate, serverName }: Access): https.RequestOptions {
  // Security: only the authority that the cluster names, where it names one.
  return {
    ...(ca !== undefined && { ca }),
    ...certificate,
    ...(serverName !== undefined && { servername: serverName }),
    minVersion: 'TLSv1.2',
  };
}

function headersOf({ token }: Access, payload: Buffer | undefined): Record<string, string> {
  return {
    Accept: 'application/json',
    'User-Agent': 'hermetic',
    ...(token !== undefined && { Authorization: `Bearer ${token}` }),
    ...(payload && { 'Content-Type': 'application/json', 'Content-Length': String(payload.length) }),
  };
}

async function textOf(response: IncomingMessage, maxBytes: number): Promise<string> {
  const bytes = new ByteStore(maxBytes);
  for await (const chunk of response) {
    if (bytes.push(chunk as Buffer)) continue;
    response.destroy();
    throw new HermeticError('backend/unavailable', `The Kubernetes API answered with more than ${maxBytes} bytes.`);
  }
  return bytes.view().toString('utf8');
}

function eventOf(text: string): WatchEvent {
  const event = JSON.parse(text) as Partial<WatchEvent> | null;
  if (typeof event?.type !== 'string' || typeof event.object !== 'object' || event.object === null) throw new Error('it is no event');
  return { type: event.type, object: event.object };
}

function noList(path: string): HermeticError {
  return new HermeticError('backend/unavailable', `The Kubernetes API answered ${path} with something that is not a list.`);
}
