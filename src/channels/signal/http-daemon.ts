import { setTimeout as delay } from 'node:timers/promises';
import { abortAfter } from '../../lib/deadline.ts';
import { CallError, connectionError } from '../call-error.ts';
import { readBody } from '../read-body.ts';
import { type CallOptions, callMs, type Daemon, type EventParts, tooLargeEvent } from './daemon.ts';
import { EventStream } from './event-stream.ts';
import { resultIn } from './failures.ts';
import { maxEventBytes } from './limits.ts';

/** Some versions of signal-cli answer a request for events with the first of them, or after 15 s. */
const quietOpenMs = 2000;
const mebibyte = 1024 * 1024;

/** signal-cli with `daemon --http`. */
export class HttpDaemon implements Daemon {
  readonly #root: string;
  readonly #account: string;
  #count = 0;

  constructor(root: string, account: string) {
    this.#root = root.replace(/\/+$/, '');
    this.#account = account;
  }

  async call(
    method: string,
    params: Readonly<Record<string, unknown>>,
    { timeoutMs = callMs, signal, maxBytes = 16 * mebibyte }: CallOptions = {},
  ): Promise<unknown> {
    this.#count += 1;
    const body = JSON.stringify({ jsonrpc: '2.0', id: this.#count, method, params: { account: this.#account, ...params } });
    // A connection that is used again may have ended just now, and then we cannot know whether the request arrived.
    const headers = { 'content-type': 'application/json', connection: 'close' };
    const text = await this.#guarded(signal, () =>
      abortAfter({ ms: timeoutMs, signal }, async (cancel) => {
        const answer = await fetch(`${this.#root}/api/v1/rpc`, { method: 'POST', headers, body, signal: cancel, redirect: 'error' });
        return (await readBody({ body: await bodyOf(answer) }, maxBytes)).toString('utf8');
      }),
    );
    return resultIn(parsed(text));
  }

  async serveEvents({ after, signal, onOpen, onEvent }: EventParts): Promise<void> {
    const address = `${this.#root}/api/v1/events?account=${encodeURIComponent(this.#account)}`;
    const headers = { accept: 'text/event-stream', ...(after !== undefined && { 'last-event-id': after }) };
    const opened = new AbortController();
    const open = (): void => {
      if (!opened.signal.aborted) onOpen();
      opened.abort();
    };
    await this.#guarded(signal, async () => {
      try {
        const answering = fetch(address, { headers, signal, redirect: 'error' });
        void delay(quietOpenMs, undefined, { signal: opened.signal }).then(open, () => undefined);
        const body = await bodyOf(await answering);
        open();
        const stream = new EventStream(maxEventBytes);
        for await (const piece of body) {
          for (const { data = tooLargeEvent, id } of stream.push(piece)) if (!signal.aborted) onEvent(data, id);
        }
      } finally {
        opened.abort();
      }
    });
  }

  async #guarded<Result>(signal: AbortSignal | undefined, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      signal?.throwIfAborted();
      throw error instanceof CallError ? error : connectionError(error);
    }
  }
}

/** What is wrong with an address or a proxy is not the fault of a message. */
async function bodyOf({ status, ok, body }: Response): Promise<ReadableStream<Uint8Array>> {
  if (ok && body) return body;
  await body?.cancel();
  throw new CallError('the answer of something that is not signal-cli, or of one with other settings', { status, isPassing: true });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
