import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Update } from 'grammy/types';
import { readForm } from './bot-api-form.ts';
import { methods, Refusal } from './bot-api-methods.ts';
import { BotWorld, dropOldest } from './bot-api-world.ts';
import type { BotLimits, Excess } from './bot-limits.ts';
import { loopbackHttp } from './loopback-server.ts';

export { ada, type BotMessage, bob, bot, type Said } from './bot-api-world.ts';

/** One thing that goes wrong. Without `cut` and `body` it is an answer of Telegram. */
export interface Failure {
  status?: number;
  description?: string;
  /** Seconds. */
  retryAfter?: number;
  /** The connection ends: before anything happened, or after it and before the answer. */
  cut?: 'before' | 'after';
  /** Sends whoever asks elsewhere. */
  location?: string;
  /** An answer that is none of Telegram's, such as the page of a proxy. */
  body?: string;
  /** Nothing happens before this is resolved. Alone it is only slow. */
  after?: Promise<unknown>;
  /** It happens at once, and the answer comes when this is resolved. */
  answerAfter?: Promise<unknown>;
}

export interface Call {
  /** In lower case. */
  method: string;
  parameters: Record<string, unknown>;
  /** When it arrived, as `performance.now()` says it. */
  at: number;
}

/** One that was over a limit. */
export interface RefusedCall extends Call, Excess {}

const conflict = 'Conflict: terminated by other getUpdates request; make sure that only one bot instance is running';
const webhookConflict = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first";

/** A server on this machine that is to a bot what Telegram is. */
export class FakeBotApi {
  readonly token: string;
  /** Everything said, sent and pressed. */
  readonly world = new BotWorld((update) => this.push(update));
  /** Every call that arrived, also those that failed. */
  readonly calls: Call[] = [];
  /** Refuses with 429 what is over them. */
  limits: BotLimits | undefined;
  /** Every call that was over a limit. */
  readonly refused: RefusedCall[] = [];
  /** Asked before each call; for trouble at random. */
  trouble: ((call: Call) => Failure | undefined) | undefined;
  webhook = '';
  readonly #server = loopbackHttp((request, response) => this.#serve(request, response));
  readonly #failures = new Map<string, Failure[]>();
  readonly #delivered = new Map<number, Update>();
  #queue: Update[] = [];
  #lastUpdate = 700_000_000;
  #allowed: readonly string[] | undefined;
  /** Who waits for an update. */
  #waiting: { wake: () => void; refuse: () => void } | undefined;

  private constructor(token: string) {
    this.token = token;
  }

  static async start(token = '4242:AAE-a_secret_that_nobody_may_see_0123'): Promise<FakeBotApi> {
    const api = new FakeBotApi(token);
    await api.comeUp();
    return api;
  }

  get root(): string {
    return this.#server.origin;
  }

  /** What was not confirmed. It is delivered again, for ever. */
  get unconfirmed(): readonly Update[] {
    return [...this.#queue];
  }

  /** Numbers of everything that was ever delivered. */
  get deliveredIds(): number[] {
    return [...this.#delivered.keys()];
  }

  /** A new update, with the next number. Kinds the bot did not ask for are not kept. */
  push(update: Omit<Update, 'update_id'>): number {
    this.#lastUpdate += 1;
    const kind = Object.keys(update)[0] ?? '';
    if (this.#allowed === undefined || this.#allowed.includes(kind)) this.#enqueue({ ...update, update_id: this.#lastUpdate });
    return this.#lastUpdate;
  }

  /** An update as it is, whatever its number. */
  deliver(update: Update): void {
    this.#enqueue(update);
  }

  /** Delivers one that was confirmed once more. */
  deliverAgain(updateId: number): void {
    const update = this.#delivered.get(updateId);
    if (!update) throw new Error(`update ${updateId} was never delivered`);
    this.#enqueue(update);
  }

  /** The next calls of this method fail; `*` is every method. */
  fail(method: string, failure: Failure, times = 1): void {
    const key = method.toLowerCase();
    this.#failures.set(key, [...(this.#failures.get(key) ?? []), ...Array.from({ length: times }, () => failure)]);
  }

  /** Drops all but the newest of what it keeps, so that it can run for hours. What is dropped can neither be edited nor answered. */
  forget(keep = 10_000): void {
    for (const list of [this.calls, this.refused]) dropOldest(list, keep);
    const waiting = new Set(this.#queue.map(({ update_id }) => update_id));
    for (const id of [...this.#delivered.keys()].slice(0, Math.max(0, this.#delivered.size - keep))) {
      if (!waiting.has(id)) this.#delivered.delete(id);
    }
    this.world.forget(keep);
  }

  callsOf(method: string): Call[] {
    return this.calls.filter((call) => call.method === method.toLowerCase());
  }

  /** Refuses connections and ends those there are. */
  async goDown(): Promise<void> {
    this.#waiting = undefined;
    await this.#server.goDown();
  }

  /** Listens, at the same address as before. */
  comeUp(): Promise<void> {
    return this.#server.comeUp();
  }

  /** Ends every connection, and takes new ones. */
  cutAll(): void {
    this.#server.cutAll();
  }

  async close(): Promise<void> {
    if (this.#server.isUp) await this.goDown();
  }

  #enqueue(update: Update): void {
    const isNewest = (this.#queue.at(-1)?.update_id ?? 0) <= update.update_id;
    if (isNewest) this.#queue.push(update);
    else this.#queue = [...this.#queue, update].sort((one, other) => one.update_id - other.update_id);
    this.#waiting?.wake();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, kind, token, rest] = /^\/(bot|file\/bot)([^/]+)\/(.+)$/.exec(request.url ?? '') ?? [];
    const isFile = kind === 'file/bot';
    const method = isFile ? 'download' : (rest ?? '').toLowerCase();
    const { parameters, files } = await readForm(request);
    const call: Call = { method, parameters, at: performance.now() };
    this.calls.push(call);
    if (token !== this.token) return answer(response, 401, { ok: false, error_code: 401, description: 'Unauthorized' });
    const failure = this.#failureFor(call);
    await failure?.after;
    if (failure?.cut === 'before') return void response.destroy();
    if (failure?.location !== undefined) return void response.writeHead(307, { location: failure.location }).end();
    if (failure?.body !== undefined)
      return void response.writeHead(failure.status ?? 502, { 'content-type': 'text/html' }).end(failure.body);
    try {
      if (failure?.status !== undefined) throw refusalOf(failure);
      this.#limit(call);
      if (isFile) return this.#download(rest ?? '', response, failure);
      const result = await this.#result(method, { parameters, files }, response);
      await failure?.answerAfter;
      if (failure?.cut === 'after') return void response.destroy();
      answer(response, 200, { ok: true, result });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const { status, message, parameters: more } = error;
      answer(response, status, { ok: false, error_code: status, description: message, ...(more && { parameters: more }) });
    }
  }

  #failureFor(call: Call): Failure | undefined {
    return this.#failures.get(call.method)?.shift() ?? this.#failures.get('*')?.shift() ?? this.trouble?.(call);
  }

  #limit(call: Call): void {
    const excess = this.limits?.take(call.method, call.parameters);
    if (!excess) return;
    this.refused.push({ ...call, ...excess });
    throw refusalOf({ status: 429, retryAfter: excess.retryAfter });
  }

  #download(path: string, response: ServerResponse, failure: Failure | undefined): void {
    const wanted = decodeURIComponent(path);
    const file = [...this.world.files.values()].find((one) => one.path === wanted);
    if (!file) throw new Refusal(404, 'Not Found');
    if (failure?.cut === 'after') {
      response.writeHead(200, { 'content-length': file.data.length });
      response.write(file.data.subarray(0, Math.floor(file.data.length / 2)), () => response.destroy());
    } else response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(file.data);
  }

  async #result(method: string, form: Awaited<ReturnType<typeof readForm>>, response: ServerResponse): Promise<unknown> {
    if (method === 'getupdates') return await this.#updates(form.parameters, response);
    if (method === 'deletewebhook' || method === 'setwebhook') {
      this.webhook = String(form.parameters.url ?? '');
      if (form.parameters.drop_pending_updates === true) this.#queue = [];
      return true;
    }
    if (method === 'getwebhookinfo') return { url: this.webhook, has_custom_certificate: false, pending_update_count: this.#queue.length };
    const known = methods[method];
    if (!known) throw new Refusal(404, 'Not Found');
    const texts = [form.parameters.text, form.parameters.caption].filter((text) => typeof text === 'string');
    if (!texts.every((text) => text.isWellFormed())) throw new Refusal(400, 'Bad Request: strings must be encoded in UTF-8');
    return known(this.world, form);
  }

  async #updates(parameters: Record<string, unknown>, response: ServerResponse): Promise<Update[]> {
    if (this.webhook !== '') throw new Refusal(409, webhookConflict);
    this.#waiting?.refuse();
    const offset = Number(parameters.offset ?? 0);
    const limit = Math.min(100, Math.max(1, Number(parameters.limit ?? 100)));
    if (Array.isArray(parameters.allowed_updates)) this.#allowed = parameters.allowed_updates;
    if (offset > 0) this.#queue = this.#queue.filter(({ update_id }) => update_id >= offset);
    else if (offset < 0) this.#queue = this.#queue.slice(offset);
    if (this.#queue.length === 0) await this.#wait(Number(parameters.timeout ?? 0), response);
    const updates = this.#queue.slice(0, limit);
    for (const update of updates) this.#delivered.set(update.update_id, update);
    return updates;
  }

  async #wait(seconds: number, response: ServerResponse): Promise<void> {
    if (seconds <= 0) return;
    await new Promise<void>((resolve, reject) => {
      const finish = (end: () => void) => (): void => {
        clearTimeout(timer);
        if (this.#waiting === waiting) this.#waiting = undefined;
        end();
      };
      const waiting = { wake: finish(resolve), refuse: finish(() => reject(new Refusal(409, conflict))) };
      const timer = setTimeout(waiting.wake, seconds * 1000);
      response.once('close', waiting.wake);
      this.#waiting = waiting;
    });
  }
}

function refusalOf({ status = 500, description, retryAfter }: Failure): Refusal {
  if (status === 429) {
    const seconds = retryAfter ?? 1;
    return new Refusal(429, description ?? `Too Many Requests: retry after ${seconds}`, { retry_after: seconds });
  }
  const usual: Record<number, string> = {
    401: 'Unauthorized',
    403: 'Forbidden: bot was blocked by the user',
    409: conflict,
    502: 'Bad Gateway',
  };
  return new Refusal(status, description ?? usual[status] ?? 'Internal Server Error');
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
