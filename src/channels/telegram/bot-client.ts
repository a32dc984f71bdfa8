import { setTimeout as delay } from 'node:timers/promises';
import { Api, InputFile, type RawApi } from 'grammy';
import { CallSlots } from '../../lib/call-slots.ts';
import { abortAfter } from '../../lib/deadline.ts';
import { Spacing } from '../../lib/spacing.ts';
import { CallError } from '../call-error.ts';
import { safeFileName } from '../file-name.ts';
import { readFileBody } from '../read-body.ts';
import { callErrorOf } from './failures.ts';
import { evenlyMs, usualCallsPerSecond } from './limits.ts';

const telegramRoot = 'https://api.telegram.org';

/** The signal type of grammY; Node's signals fit. */
type Signal = NonNullable<Parameters<RawApi['getMe']>[0]>;

/** More connections at once would only wait at Telegram, and time out. */
const maxCalls = 30;
/** So many calls may leave together after a pause. */
const maxTogether = 3;

export interface CallOptions {
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
  /** Skips the line of calls, as long polling does: it would hold a slot all the time. */
  isApart?: boolean;
}

/** grammY, with a limit of time for every call, and errors that are safe to show: `CallError`, or the reason of the signal. */
export class BotClient {
  readonly #api: Api;
  readonly #token: string;
  readonly #root: string;
  readonly #slots = new CallSlots(maxCalls);
  readonly #spacing: Spacing;
  /** Resolves when the last call has left. */
  #left: Promise<void> = Promise.resolve();

  constructor(token: string, apiRoot: string | undefined, callsPerSecond = usualCallsPerSecond) {
    this.#token = token;
    this.#spacing = new Spacing({ everyMs: evenlyMs(callsPerSecond), burst: maxTogether });
    this.#root = (apiRoot ?? telegramRoot).replace(/\/+$/, '');
    // Security: the address has the token in it, so no answer may lead elsewhere.
    this.#api = new Api(token, { apiRoot: this.#root, baseFetchConfig: { redirect: 'error' } });
  }

  async call<Result>(
    make: (api: RawApi, signal: Signal) => Promise<Result>,
    { timeoutMs = 30_000, signal, isApart = false }: CallOptions = {},
  ): Promise<Result> {
    const call = (): Promise<Result> => this.#within({ timeoutMs, signal }, (cancel: unknown) => make(this.#api.raw, cancel as Signal));
    if (isApart) return await call();
    return await this.#slots.run(async () => {
      this.#left = this.#left.then(() => this.#leave());
      await this.#left;
      return await call();
    });
  }

  /** Whether a call would have to wait for others. */
  get isBusy(): boolean {
    return this.#slots.isFull;
  }

  /** Telegram counts what arrives: calls that were held up together do not leave together. */
  async #leave(): Promise<void> {
    const waitMs = this.#spacing.waitMs(performance.now());
    if (waitMs > 0) await delay(Math.ceil(waitMs));
    this.#spacing.count(performance.now());
  }

  /** Downloads what `getFile` found, and no more than this many bytes of it. */
  async download(path: string, maxBytes: number, { timeoutMs = 120_000, signal }: CallOptions = {}): Promise<Buffer> {
    // Security: the path comes from a server, and may lead nowhere but below the files of this bot.
    const steps = path.split('/');
    if (steps.some((step) => step === '' || step === '.' || step === '..')) {
      throw new CallError('a path that only a server with --local can mean; run it without that option', { status: 400 });
    }
    const address = `${this.#root}/file/bot${this.#token}/${steps.map(encodeURIComponent).join('/')}`;
    return await this.#within({ timeoutMs, signal }, async (cancel) => {
      const answer = await fetch(address, { signal: cancel, redirect: 'error' });
      return await readFileBody(answer, maxBytes);
    });
  }

  async #within<Result>(
    { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal | undefined },
    work: (cancel: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    try {
      return await abortAfter({ ms: timeoutMs, signal }, work);
    } catch (error) {
      signal?.throwIfAborted();
      throw callErrorOf(error, this.#token);
    }
  }
}

export function inputFile(name: string, data: Uint8Array): InputFile {
  return new InputFile(data, safeFileName(name));
}
