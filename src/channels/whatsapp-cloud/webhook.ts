import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ByteStore } from '../../lib/byte-store.ts';
import { settlesWithin } from '../../lib/deadline.ts';
import { isSameSecret } from '../../lib/same-secret.ts';
import { unusable } from './failures.ts';

const maxConnections = 100;
const closingMs = 1000;

export interface WebhookLimits {
  /** Meta's bodies are no larger. */
  maxBodyBytes: number;
  /** Of all bodies that are being read, so that strangers cannot fill the memory. */
  maxReadingBytes: number;
  /** How long one body may take. */
  bodyMs: number;
}

const mebibyte = 1024 * 1024;
const usualLimits: WebhookLimits = { maxBodyBytes: 3 * mebibyte, maxReadingBytes: 24 * mebibyte, bodyMs: 10_000 };

export interface WebhookParts {
  host: string;
  port: number;
  path: string;
  appSecret: string;
  verifyToken: string;
  /** Gets a body that Meta has signed. Resolves with whether it need not come again. Never rejects. */
  deliver(body: Buffer): Promise<boolean>;
  log: (sentence: string) => void;
}

/** The address that Meta delivers to: a server of its own, so that what makes it public makes nothing else public. */
export class Webhook {
  readonly #parts: WebhookParts;
  readonly #limits: WebhookLimits;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #serving = new Set<Promise<void>>();
  #readingBytes = 0;
  #isClosing = false;

  constructor(parts: WebhookParts, limits = usualLimits) {
    this.#parts = parts;
    this.#limits = limits;
    const { bodyMs } = limits;
    const times = { headersTimeout: bodyMs, requestTimeout: 2 * bodyMs, keepAliveTimeout: 5000, connectionsCheckingInterval: 5000 };
    this.#server = createServer({ ...times, maxHeaderSize: 16_384 }, (request, response) => {
      const serving = this.#serve(request, response).catch(() => void response.destroy());
      this.#serving.add(serving);
      void serving.then(() => this.#serving.delete(serving));
    });
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    this.#server.maxConnections = maxConnections;
  }

  /** Rejects when it cannot listen there. */
  async open(): Promise<void> {
    const { host, port } = this.#parts;
    this.#server.listen(port, host);
    try {
      await once(this.#server, 'listening');
    } catch (error) {
      const code = String((error as { code?: unknown }).code);
      const why = code === 'EADDRINUSE' ? 'another program uses it' : code;
      const hint = 'Set whatsapp_cloud.webhook_host and whatsapp_cloud.webhook_port to an address of this machine that is free.';
      throw unusable(`WhatsApp Cloud cannot listen at port ${port} of ${host}: ${why}.`, hint);
    }
    this.#server.on('error', (error) => this.#parts.log(`WhatsApp Cloud cannot be delivered to: ${(error as { code?: unknown }).code}.`));
  }

  /** What is being answered has a moment to arrive, so that it does not come again. */
  async close(): Promise<void> {
    this.#isClosing = true;
    if (!this.#server.listening) return;
    await settlesWithin(closingMs, Promise.all(this.#serving));
    const ended = [...this.#sockets].map((socket) => new Promise((resolve) => void socket.once('close', resolve).end()));
    await settlesWithin(closingMs, Promise.all(ended));
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path, query] = (request.url ?? '').split('?', 2);
    if (path !== this.#parts.path) this.#answer(response, 404);
    else if (request.method === 'GET') this.#verify(new URLSearchParams(query), response);
    else if (request.method === 'POST') await this.#receive(request, response);
    else this.#answer(response, 405, { allow: 'GET, POST' });
  }

  /** Meta asks whether the address is ours before it delivers anything. */
  #verify(query: URLSearchParams, response: ServerResponse): void {
    const challenge = query.get('hub.challenge') ?? '';
    const isMeta = query.get('hub.mode') === 'subscribe' && isSameSecret(query.get('hub.verify_token') ?? '', this.#parts.verifyToken);
    if (isMeta && /^[\w.-]{1,256}$/.test(challenge)) this.#answer(response, 200, {}, challenge);
    else this.#answer(response, 403);
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const signature = signatureIn(request);
    // Security: a stranger's body is not even read, unless it claims to be signed.
    if (!signature) return this.#answer(response, 401);
    if (this.#isClosing) return this.#answer(response, 503);
    const body = await this.#read(request);
    if (typeof body === 'number') return this.#answer(response, body);
    // Security: before anything looks at what it says.
    if (!timingSafeEqual(createHmac('sha256', this.#parts.appSecret).update(body).digest(), signature)) return this.#answer(response, 401);
    this.#answer(response, (await this.#parts.deliver(body)) ? 200 : 503);
  }

  /** The body, or with which status it is not taken. */
  async #read(request: IncomingMessage): Promise<Buffer | number> {
    const { maxBodyBytes, maxReadingBytes, bodyMs } = this.#limits;
    if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) return 413;
    const bytes = new ByteStore(maxBodyBytes);
    const timer = setTimeout(() => request.destroy(), bodyMs);
    let count = 0;
    try {
      // Otherwise the connection would end before the answer.
      for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        count += piece.length;
        this.#readingBytes += piece.length;
        if (!bytes.push(piece)) return 413;
        if (this.#readingBytes > maxReadingBytes) return 503;
      }
      return bytes.take();
    } finally {
      clearTimeout(timer);
      this.#readingBytes -= count;
    }
  }

  /** Nothing that helps a stranger. */
  #answer(response: ServerResponse, status: number, headers: Record<string, string> = {}, text = ''): void {
    const ending = status >= 400 ? { connection: 'close' } : {};
    const kind = { 'content-type': 'text/plain', 'content-length': Buffer.byteLength(text), 'x-content-type-options': 'nosniff' };
    response.writeHead(status, { ...kind, ...headers, ...ending });
    response.end(text);
  }
}

/** undefined when there is none, or nothing that can be one. */
function signatureIn(request: IncomingMessage): Buffer | undefined {
  const header = request.headers['x-hub-signature-256'];
  const [, digits] = /^sha256=([0-9a-f]{64})$/i.exec(typeof header === 'string' ? header : '') ?? [];
  return digits === undefined ? undefined : Buffer.from(digits, 'hex');
}
