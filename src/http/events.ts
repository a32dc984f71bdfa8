import type { Context } from 'hono';
import { type SSEMessage, streamSSE } from 'hono/streaming';
import type { WebEvent } from '../core/web-log.ts';
import { refusal, signInOf, type Web } from './guard.ts';
import type { HttpLimits, HttpParts } from './parts.ts';
import type { SignInWatch } from './sign-in-watch.ts';

/** As a number is written in an address, with as many digits as are exact. */
const wholeNumber = /^\d{1,15}$/;

type Frames = AsyncIterable<SSEMessage>;

/** Pages that follow chats. */
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

  /** One chat. */
  async follow(context: Context<Web>, chat: string): Promise<Response> {
    const after = Number(context.req.header('last-event-id') ?? context.req.query('after') ?? 0);
    if (!Number.isSafeInteger(after) || after < 0) return refusal(context, 400, 'The number of the last event is not a number.');
    return await this.#stream(context, this.#limits.pingEveryMs, async (signal) => {
      const events = await this.#parts.chats.follow(chat, after, signal);
      return events && [numberedFrames(events)];
    });
  }

  /** The chats of all tabs of a browser. Beats often, so that a page knows soon when the gateway is gone. */
  async followSeveral(context: Context<Web>): Promise<Response> {
    const { maxFollowedChats, beatEveryMs } = this.#limits;
    const wanted = (context.req.queries('chat') ?? []).map((one) => one.split(':'));
    if (wanted.length > maxFollowedChats) return refusal(context, 400, `A stream has at most ${maxFollowedChats} chats.`);
    if (!wanted.every(([, after = '', ...more]) => wholeNumber.test(after) && more.length === 0))
      return refusal(context, 400, 'A chat is written as its id, a colon and the number of its last event.');
    return await this.#stream(context, beatEveryMs, async (signal) => {
      const opened = wanted.map(async ([chat = '', after]) => {
        // One that is gone says nothing any more.
        const events = await this.#parts.chats.follow(chat, Number(after), signal);
        return events ? [framesOf(chat, events)] : [];
      });
      return (await Promise.all(opened)).flat();
    });
  }

  /** `open` resolves with nothing when there is no such chat. */
  async #stream(
    context: Context<Web>,
    pingEveryMs: number,
    open: (signal: AbortSignal) => Promise<Frames[] | undefined>,
  ): Promise<Response> {
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
      const all = await open(signal);
      if (!all) {
        end();
        return refusal(context, 404, 'There is no such chat.');
      }
      context.header('x-accel-buffering', 'no');
      return streamSSE(context, async (stream) => {
        stream.onAbort(end);
        let isPinging = false;
        const ping = async (): Promise<void> => {
          // To a page that reads nothing, one that waits is enough.
          if (isPinging) return;
          isPinging = true;
          await stream.writeSSE({ event: 'ping', data: '' });
          isPinging = false;
        };
        const timer = setInterval(() => void ping(), pingEveryMs);
        try {
          // Tells the page that it is connected before there is anything to say.
          await ping();
          const writing = all.map(async (frames) => {
            for await (const frame of frames) await stream.writeSSE(frame);
          });
          await Promise.all([untilAborted(signal), ...writing]);
        } finally {
          clearInterval(timer);
          end();
        }
      });
    } catch (error) {
      end();
      throw error;
    }
  }
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** Only stored events have a number: a browser that reconnects with it missed nothing before it. */
async function* numberedFrames(events: AsyncIterable<WebEvent>): Frames {
  for await (const event of events) {
    if (event.kind === 'message') yield { event: 'message', data: JSON.stringify(event.message), id: String(event.message.seq) };
    else yield { event: event.kind, data: JSON.stringify(event) };
  }
}

/** Without numbers, because each chat has its own. */
async function* framesOf(chat: string, events: AsyncIterable<WebEvent>): Frames {
  for await (const event of events) yield { event: 'chat', data: JSON.stringify({ chat, event }) };
}
