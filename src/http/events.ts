import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { WebEvent } from '../core/web-log.ts';
import { refusal, signInOf, type Web } from './guard.ts';
import type { HttpLimits, HttpParts } from './parts.ts';
import type { SignInWatch } from './sign-in-watch.ts';

/** Pages that follow a chat. */
export class Followers {
  readonly #parts: HttpParts;
  readonly #limits: HttpLimits;
  readonly #watch: SignInWatch;
  readonly #closing = new AbortController();
  #count = 0;

  constructor(parts: HttpParts, limits: HttpLimits, watch: SignInWatch) {
    this.#parts = parts;
    this.#limits = limits;
    this.#watch = watch;
  }

  /** Ends all of them. */
  close(): void {
    this.#closing.abort();
  }

  async follow(context: Context<Web>, chat: string): Promise<Response> {
    const after = Number(context.req.header('last-event-id') ?? context.req.query('after') ?? 0);
    if (!Number.isSafeInteger(after) || after < 0) return refusal(context, 400, 'The number of the last event is not a number.');
    if (this.#count >= this.#limits.maxFollowers || this.#closing.signal.aborted) return refusal(context, 503, 'Too many pages are open.');
    this.#count += 1;
    const ended = new AbortController();
    const signIn = signInOf(context);
    const watched = signIn && this.#watch.watch(signIn);
    const signal = AbortSignal.any([ended.signal, this.#closing.signal, ...(watched ? [watched.signal] : [])]);
    const end = (): void => {
      if (!ended.signal.aborted) this.#count -= 1;
      ended.abort();
      watched?.release();
    };
    try {
      const events = await this.#parts.chats.follow(chat, after, signal);
      if (!events) {
        end();
        return refusal(context, 404, 'There is no such chat.');
      }
      context.header('x-accel-buffering', 'no');
      return streamSSE(context, async (stream) => {
        stream.onAbort(end);
        const ping = setInterval(() => void stream.writeSSE({ event: 'ping', data: '' }), this.#limits.pingEveryMs);
        try {
          // Tells the page that it is connected before there is anything to say.
          await stream.writeSSE({ event: 'ping', data: '' });
          for await (const event of events) await stream.writeSSE(frameOf(event));
        } finally {
          clearInterval(ping);
          end();
        }
      });
    } catch (error) {
      end();
      throw error;
    }
  }
}

/** Only stored events have a number: a browser that reconnects with it missed nothing before it. */
function frameOf(event: WebEvent): { event: string; data: string; id?: string } {
  if (event.kind === 'message') return { event: 'message', data: JSON.stringify(event.message), id: String(event.message.seq) };
  return { event: event.kind, data: JSON.stringify(event) };
}
