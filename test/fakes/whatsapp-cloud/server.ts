import { createHmac } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { loopbackHttp } from '../loopback-server.ts';
import { type Call, media, messages, number, Refusal, upload } from './routes.ts';
import { business, type FakeFile, type Waiting, WhatsAppWorld } from './world.ts';

/** One thing that goes wrong. */
export interface Failure {
  status?: number;
  /** By which Meta names it. */
  code?: number;
  /** Seconds. */
  retryAfter?: number;
  headers?: Record<string, string>;
  /** Instead of JSON. */
  text?: string;
  /** Nothing goes wrong this time. */
  passes?: boolean;
  /** The connection ends: before anything happened, or after it and before the answer. */
  cut?: 'before' | 'after';
}

/** What of the interface was called. */
export type CallName = 'number' | 'send' | 'upload' | 'media' | 'download';

const redeliverMs = 30;

/** A server on this machine that is to a business what Meta is: an interface, and deliveries that come again until they are taken. */
export class FakeWhatsAppCloud {
  readonly token = 'EAAGtestTokenThatNobodyMaySee0123456789';
  readonly appSecret = '0123456789abcdef0123456789abcdef';
  readonly verifyToken = 'a-word-that-only-we-know';
  readonly world: WhatsAppWorld;
  /** Where deliveries go. */
  readonly webhook: string;
  /** Every call that arrived, also those that failed. */
  readonly calls: { name: CallName; body: Record<string, unknown> }[] = [];
  /** What was not taken yet. */
  waiting: Waiting[] = [];
  /** Where files are, when not here. */
  fileRoot: string | undefined;
  readonly #server = loopbackHttp((request, response) => this.#serve(request, response));
  readonly #failures = new Map<CallName, Failure[]>();
  readonly #busyChats = new Set<string>();
  #delivered: Waiting | undefined;

  private constructor(webhook: string) {
    this.webhook = webhook;
    this.world = new WhatsAppWorld((waiting) => {
      this.waiting.push(waiting);
      this.#pump();
    });
  }

  static async start(webhook: string): Promise<FakeWhatsAppCloud> {
    const cloud = new FakeWhatsAppCloud(webhook);
    await cloud.comeUp();
    return cloud;
  }

  get root(): string {
    return this.#server.origin;
  }

  /** The next calls fail. */
  fail(name: CallName, ...failures: Failure[]): void {
    this.#failures.set(name, [...(this.#failures.get(name) ?? []), ...failures]);
  }

  /** Refuses connections, ends those there are, and delivers nothing. */
  async goDown(): Promise<void> {
    await this.#server.goDown();
  }

  /** Listens, at the same address as before. */
  async comeUp(): Promise<void> {
    await this.#server.comeUp();
    this.#pump();
  }

  async close(): Promise<void> {
    if (this.#server.isUp) await this.goDown();
  }

  deliverAgain(): void {
    if (this.#delivered) this.waiting.push(this.#delivered);
    this.#pump();
  }

  /** Posts a body as Meta does, or as somebody who does not know the secret. */
  async post(body: string, { secret = this.appSecret, headers = {} }: { secret?: string; headers?: Record<string, string> } = {}) {
    const signature = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
    return await fetch(this.webhook, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', 'x-hub-signature-256': signature, ...headers },
    });
  }

  bodyOf(changes: readonly Waiting['change'][]): string {
    return JSON.stringify({ object: 'whatsapp_business_account', entry: [{ id: '102290129340398', changes }] });
  }

  /** Chats do not wait for each other; what waits in one comes together. */
  #pump(): void {
    for (const chat of new Set(this.waiting.map((one) => one.chat))) if (this.#server.isUp) void this.#deliver(chat);
  }

  async #deliver(chat: string): Promise<void> {
    if (this.#busyChats.has(chat)) return;
    this.#busyChats.add(chat);
    const batch = this.waiting.filter((one) => one.chat === chat);
    try {
      const answer = await this.post(this.bodyOf(batch.map(({ change }) => change)));
      if (answer.status !== 200) await delay(redeliverMs);
      else {
        this.waiting = this.waiting.filter((one) => !batch.includes(one));
        this.#delivered = batch.at(-1);
      }
      await answer.arrayBuffer();
    } catch {
      await delay(redeliverMs);
    }
    this.#busyChats.delete(chat);
    this.#pump();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', this.root);
    const { body, file } = await readBody(request);
    const [name, run] = routeOf(request.method ?? '', pathname) ?? [];
    if (!name || !run) return sendError(response, 404, 2500, 'Unknown path');
    this.calls.push({ name, body });
    const failure = body.status === 'read' ? undefined : this.#failures.get(name)?.shift();
    if (failure?.cut === 'before') {
      request.socket.destroy();
      return;
    }
    if (failure && failure.cut === undefined && !failure.passes) return sendFailure(response, failure);
    if (request.headers.authorization !== `Bearer ${this.token}`) {
      return sendError(response, 401, 190, `Error validating access token: ${request.headers.authorization}`);
    }
    try {
      const result = run({ world: this.world, root: this.fileRoot ?? this.root, body, file });
      if (failure?.cut === 'after') request.socket.destroy();
      else if (result instanceof Uint8Array) response.writeHead(200).end(result);
      else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(result));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      sendError(response, error.status, error.code, error.message);
    }
  }
}

function routeOf(method: string, path: string): [CallName, (call: Call) => unknown] | undefined {
  if (method === 'GET' && path === `/${business.id}`) return ['number', number];
  if (method === 'POST' && path === `/${business.id}/messages`) return ['send', messages];
  if (method === 'POST' && path === `/${business.id}/media`) return ['upload', upload];
  const [, folder, id = ''] = /^\/(files\/)?(\d+)$/.exec(path) ?? [];
  if (method !== 'GET' || id === '') return undefined;
  return folder === undefined ? ['media', (call) => media(call, id)] : ['download', ({ world }) => world.files.get(id)?.data];
}

function sendFailure(response: ServerResponse, { status = 500, code, retryAfter, headers = {}, text }: Failure): void {
  if (retryAfter !== undefined) response.setHeader('retry-after', String(retryAfter));
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (code === undefined) response.writeHead(status).end(text ?? '<html>Sorry, something went wrong.</html>');
  else sendError(response, status, code, `(#${code}) Something`);
}

function sendError(response: ServerResponse, status: number, code: number, message: string): void {
  const error = {
    message,
    type: 'OAuthException',
    code,
    error_data: { messaging_product: 'whatsapp', details: 'in detail' },
    fbtrace_id: 'A',
  };
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
}

async function readBody(request: IncomingMessage): Promise<{ body: Record<string, unknown>; file: FakeFile | undefined }> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const data = Buffer.concat(pieces);
  const type = request.headers['content-type'] ?? '';
  if (data.length === 0) return { body: {}, file: undefined };
  if (!type.startsWith('multipart/form-data')) return { body: JSON.parse(String(data)), file: undefined };
  const form = await new Response(data, { headers: { 'content-type': type } }).formData();
  const file = form.get('file');
  const body = Object.fromEntries([...form].filter(([, value]) => typeof value === 'string'));
  if (!(file instanceof File)) return { body, file: undefined };
  return { body, file: { name: file.name, type: file.type, data: new Uint8Array(await file.arrayBuffer()) } };
}
