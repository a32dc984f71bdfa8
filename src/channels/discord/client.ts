import { type InternalRequest, REST, type RequestData, type RequestMethod, type RouteLike } from '@discordjs/rest';
import { abortAfter } from '../../lib/deadline.ts';
import { CallError } from '../call-error.ts';
import { readFileBody } from '../read-body.ts';
import { callErrorOf } from './failures.ts';

const discordRoot = 'https://discord.com/api';
/** Where Discord keeps files. */
const fileHosts: readonly string[] = ['cdn.discordapp.com', 'media.discordapp.net'];

export interface CallOptions extends Pick<RequestData, 'body' | 'files' | 'query' | 'auth'> {
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
}

/** Discord's REST interface, with a limit of time for every call, and errors that are safe to show: `CallError`, or the reason of the signal. */
export class DiscordClient {
  readonly rest: REST;
  readonly #token: string;
  readonly #root: string;

  constructor(token: string, apiRoot: string | undefined) {
    this.#token = token;
    this.#root = (apiRoot ?? discordRoot).replace(/\/+$/, '');
    // Who calls decides whether to wait, and to try again.
    this.rest = new REST({ api: this.#root, version: '10', retries: 0, offset: 0, rejectOnRateLimit: () => true });
  }

  async call<Result>(method: `${RequestMethod}`, route: RouteLike, options: CallOptions = {}): Promise<Result> {
    const { timeoutMs = 30_000, signal, ...request } = options;
    try {
      return await abortAfter({ ms: timeoutMs, signal }, async (cancel) => {
        // The library forgets it after a 401.
        this.rest.setToken(this.#token);
        const wanted = { ...request, fullRoute: route, method: method as RequestMethod, signal: cancel } as InternalRequest;
        return (await this.rest.request(wanted)) as Result;
      });
    } catch (error) {
      signal?.throwIfAborted();
      throw callErrorOf(error, this.#token);
    }
  }

  /** Downloads a file of a message, and no more than this many bytes of it. */
  async download(address: string, maxBytes: number): Promise<Buffer> {
    // Security: the address comes from a server, and may lead nowhere but to the files of Discord.
    if (!this.#isOfFiles(address)) throw new CallError('a file at an address that is not one of Discord', { status: 400 });
    try {
      return await abortAfter({ ms: 120_000 }, async (cancel) => {
        const answer = await fetch(address, { signal: cancel, redirect: 'error' });
        return await readFileBody(answer, maxBytes);
      });
    } catch (error) {
      throw callErrorOf(error, this.#token);
    }
  }

  #isOfFiles(address: string): boolean {
    if (!URL.canParse(address)) return false;
    const { protocol, host, origin } = new URL(address);
    return (protocol === 'https:' && fileHosts.includes(host)) || (this.#root !== discordRoot && origin === new URL(this.#root).origin);
  }
}
