import { type Logger, LogLevel, type WebAPICallResult, WebClient } from '@slack/web-api';
import { abortAfter } from '../../lib/deadline.ts';
import { CallError } from '../call-error.ts';
import { readBody } from '../read-body.ts';
import { callErrorOf, isTokenRefused, retryAfterMs } from './failures.ts';

const slackRoot = 'https://slack.com/api';
/** Where Slack keeps files. */
const fileHost = 'files.slack.com';
const socketHosts = '.slack.com';
const downloadMs = 120_000;

export interface CallOptions {
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
}

export interface ClientParts {
  token: string;
  apiRoot: string | undefined;
  /** Told when Slack refuses the token. */
  onTokenRefused?: ((error: CallError) => void) | undefined;
}

const nothing = (): undefined => undefined;
/** Security: the library writes requests and answers to its log. */
const silent: Logger = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  setLevel: nothing,
  getLevel: () => LogLevel.ERROR,
  setName: nothing,
};

/** Slack's Web API for one token, with a limit of time for every call, and errors that are safe to show: `CallError`, or the reason of the signal. */
export class SlackClient {
  readonly #parts: ClientParts;
  readonly #root: string;

  constructor(parts: ClientParts) {
    this.#parts = parts;
    this.#root = (parts.apiRoot ?? slackRoot).replace(/\/+$/, '');
  }

  async call<Result = WebAPICallResult>(method: string, given: Record<string, unknown> = {}, options: CallOptions = {}): Promise<Result> {
    const { timeoutMs = 30_000, signal } = options;
    return await this.#bounded({ timeoutMs, signal }, async (cancel) => {
      // The library has no way to end a call, but to be given another `fetch`. Who calls decides whether to wait, and to try again.
      const web = new WebClient(this.#parts.token, {
        slackApiUrl: `${this.#root}/`,
        logger: silent,
        retryConfig: { retries: 0 },
        rejectRateLimitedCalls: true,
        allowAbsoluteUrls: false,
        fetch: (address, init) => fetch(address, { ...init, signal: cancel }),
      });
      return (await web.apiCall(method, given)) as Result;
    });
  }

  /** Downloads a file of a message, and no more than this many bytes of it. */
  async download(address: string, maxBytes: number): Promise<Buffer> {
    // Security: the token goes nowhere but to Slack.
    if (!this.#isOfFiles(address)) throw new CallError('a file at an address that is not one of Slack', { status: 400 });
    return await this.#bounded({ timeoutMs: downloadMs }, async (cancel) => {
      const headers = { authorization: `Bearer ${this.#parts.token}` };
      // Without the right to read files Slack leads to a page to log in at.
      const answer = await fetch(address, { signal: cancel, redirect: 'manual', headers });
      if (!answer.ok || !answer.body) {
        await answer.body?.cancel();
        const isLogin = answer.status >= 300 && answer.status < 400;
        throw new CallError('the file cannot be had', { status: isLogin ? 403 : answer.status, retryAfterMs: retryAfterOf(answer) });
      }
      return await readBody(answer, maxBytes);
    });
  }

  /** To an address that Slack gave for it. */
  async upload(address: string, data: Uint8Array, options: CallOptions): Promise<void> {
    if (!this.#isOfFiles(address)) throw new CallError('an address for files that is not one of Slack', { status: 400 });
    await this.#bounded(options, async (cancel) => {
      const headers = { 'content-type': 'application/octet-stream' };
      const answer = await fetch(address, { method: 'POST', body: Buffer.from(data), headers, signal: cancel, redirect: 'error' });
      await answer.body?.cancel();
      if (!answer.ok) throw new CallError('the file was not taken', { status: answer.status, retryAfterMs: retryAfterOf(answer) });
    });
  }

  /** Security: what is sent to the other side of a connection is what people say. */
  isSocketAddress(address: string): boolean {
    if (!URL.canParse(address)) return false;
    const { protocol, host, hostname, hash } = new URL(address);
    // The library takes none with a fragment.
    if (hash !== '') return false;
    if (this.#parts.apiRoot === undefined) return protocol === 'wss:' && hostname.endsWith(socketHosts);
    return (protocol === 'ws:' || protocol === 'wss:') && host === new URL(this.#root).host;
  }

  #isOfFiles(address: string): boolean {
    if (!URL.canParse(address)) return false;
    const { protocol, host, origin } = new URL(address);
    if (this.#parts.apiRoot === undefined) return protocol === 'https:' && host === fileHost;
    return origin === new URL(this.#root).origin;
  }

  async #bounded<Result>({ timeoutMs, signal }: CallOptions, work: (cancel: AbortSignal) => Promise<Result>): Promise<Result> {
    try {
      return await abortAfter({ ms: timeoutMs, signal }, work);
    } catch (error) {
      signal?.throwIfAborted();
      const failure = callErrorOf(error);
      if (isTokenRefused(failure)) this.#parts.onTokenRefused?.(failure);
      throw failure;
    }
  }
}

function retryAfterOf({ headers }: Response): number | undefined {
  return retryAfterMs(Number(headers.get('retry-after') ?? Number.NaN));
}
