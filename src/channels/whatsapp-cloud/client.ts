import { abortAfter } from '../../lib/deadline.ts';
import { CallError } from '../call-error.ts';
import { readBody } from '../read-body.ts';
import { answerError, callErrorOf, GraphError } from './failures.ts';

const graphRoot = 'https://graph.facebook.com/v25.0';
/** Where Meta keeps files. */
const fileHosts: readonly string[] = ['lookaside.fbsbx.com'];
const maxAnswerBytes = 1024 * 1024;

export interface CallOptions {
  /** Becomes JSON, or a form. */
  body?: object | FormData;
  query?: Readonly<Record<string, string>>;
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
}

/** Meta's Graph API, with a limit of time for every call, and errors that are safe to show: `CallError`, or the reason of the signal. */
export class GraphClient {
  readonly #token: string;
  readonly #root: string;

  constructor(token: string, apiRoot: string | undefined) {
    this.#token = token;
    this.#root = (apiRoot ?? graphRoot).replace(/\/+$/, '');
  }

  /** `path`: of ids that are known to be safe in an address. */
  async call(method: 'GET' | 'POST', path: string, { body, query, timeoutMs = 30_000, signal }: CallOptions = {}): Promise<unknown> {
    const address = `${this.#root}/${path}${query ? `?${new URLSearchParams(query)}` : ''}`;
    const isForm = body instanceof FormData;
    const headers = { authorization: `Bearer ${this.#token}`, ...(body && !isForm && { 'content-type': 'application/json' }) };
    try {
      return await abortAfter({ ms: timeoutMs, signal }, async (cancel) => {
        const content = body && { body: isForm ? body : JSON.stringify(body) };
        // Security: the token goes nowhere else.
        const answer = await fetch(address, { method, headers, ...content, redirect: 'error', signal: cancel });
        const said = jsonIn(await readBody(answer, maxAnswerBytes));
        if (!answer.ok) throw answerError({ status: answer.status, headers: answer.headers, body: said }, this.#token);
        if (said === undefined) throw new GraphError('an answer that is not JSON', { isDoubtful: true });
        return said;
      });
    } catch (error) {
      signal?.throwIfAborted();
      throw callErrorOf(error);
    }
  }

  /** Downloads a file of a message, and no more than this many bytes of it. */
  async download(address: string, maxBytes: number): Promise<Buffer> {
    // Security: the address comes from a server, and the token goes with it: it may lead nowhere but to the files of Meta.
    if (!this.#isOfFiles(address)) throw new CallError('a file at an address that is not one of Meta', { status: 400 });
    try {
      return await abortAfter({ ms: 120_000 }, async (cancel) => {
        const headers = { authorization: `Bearer ${this.#token}` };
        const answer = await fetch(address, { headers, redirect: 'error', signal: cancel });
        if (!answer.ok) {
          const said = jsonIn(await readBody(answer, maxAnswerBytes));
          throw answerError({ status: answer.status, headers: answer.headers, body: said }, this.#token);
        }
        return await readBody(answer, maxBytes);
      });
    } catch (error) {
      throw callErrorOf(error);
    }
  }

  #isOfFiles(address: string): boolean {
    if (!URL.canParse(address)) return false;
    const { protocol, host, origin } = new URL(address);
    return (protocol === 'https:' && fileHosts.includes(host)) || (this.#root !== graphRoot && origin === new URL(this.#root).origin);
  }
}

function jsonIn(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}
