import type { IncomingMessage, ServerResponse } from 'node:http';
import { loopbackHttp } from '../loopback-server.ts';
import { FakeGateway } from './gateway.ts';
import { Refusal, routes } from './routes.ts';
import { DiscordWorld, type FakeFile } from './world.ts';

/** One thing that goes wrong. */
export interface Failure {
  status?: number;
  /** Seconds. */
  retryAfter?: number;
  /** The bot may do nothing more, anywhere. */
  isGlobal?: boolean;
  /** The connection ends: before anything happened, or after it and before the answer. */
  cut?: 'before' | 'after';
}

/** What of the interface was called. */
export type CallName = 'send' | 'edit' | 'download' | 'gateway' | 'other';

/** A server on this machine that is to a bot what Discord is. */
export class FakeDiscord {
  /** The one it takes. */
  token: string;
  readonly gateway: FakeGateway;
  readonly world: DiscordWorld;
  /** Every call that arrived, also those that failed. */
  readonly calls: { method: string; path: string; body: Record<string, unknown> }[] = [];
  /** The status of a call that is refused. */
  refuses: (method: string, path: string) => number | undefined = () => undefined;
  readonly #server = loopbackHttp((request, response) => this.#serve(request, response));
  readonly #failures = new Map<CallName, Failure[]>();

  private constructor(token: string) {
    this.token = token;
    this.world = new DiscordWorld(
      (event, data) => this.gateway.dispatch(event, data),
      () => this.root,
    );
    this.gateway = new FakeGateway(
      token,
      () => this.root,
      () => [...this.world.channels.values()],
    );
    this.#server.server.on('upgrade', (request, socket, head) => this.gateway.accept(request, socket, head));
  }

  static async start(token = 'NDI0Mg.secret.that-nobody-may-see-0123'): Promise<FakeDiscord> {
    const discord = new FakeDiscord(token);
    await discord.comeUp();
    return discord;
  }

  get root(): string {
    return this.#server.origin;
  }

  /** The next calls fail. */
  fail(name: CallName, failure: Failure): void {
    this.#failures.set(name, [...(this.#failures.get(name) ?? []), failure]);
  }

  /** Refuses connections and ends those there are. */
  async goDown(): Promise<void> {
    this.gateway.terminateAll();
    await this.#server.goDown();
  }

  /** Listens, at the same address as before. */
  comeUp(): Promise<void> {
    return this.#server.comeUp();
  }

  async close(): Promise<void> {
    if (this.#server.isUp) await this.goDown();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', this.root);
    const path = decodeURIComponent(pathname);
    const { body, file } = await readBody(request);
    const method = request.method ?? 'GET';
    this.calls.push({ method, path, body });
    const refused = this.refuses(method, path);
    const failure = refused === undefined ? this.#failures.get(nameOf(method, path))?.shift() : { status: refused };
    if (failure?.cut === 'before') {
      request.socket.destroy();
      return;
    }
    if (failure?.status !== undefined && failure.cut === undefined) {
      this.#fail(response, failure);
      return;
    }
    const answer = (status: number, value?: unknown): void => {
      if (failure?.cut === 'after') request.socket.destroy();
      else if (value === undefined) response.writeHead(status).end();
      else if (value instanceof Uint8Array) response.writeHead(status).end(value);
      else response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    const route = routes.find((one) => one.method === method && one.path.test(path));
    const parts = route?.path.exec(path)?.slice(1) ?? [];
    if (!route) return answer(404, { message: '404: Not Found', code: 0 });
    if (route.isPublic !== true && request.headers.authorization !== `Bot ${this.token}`)
      return answer(401, { message: '401: Unauthorized', code: 0 });
    try {
      const result = route.run({ world: this.world, root: this.root, parts, body, file, query: searchParams });
      answer(result === undefined ? 204 : 200, result);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      answer(error.status, { message: error.message, code: error.code });
    }
  }

  #fail(response: ServerResponse, { status = 500, retryAfter, isGlobal = false }: Failure): void {
    if (status === 429) {
      response.writeHead(429, {
        'content-type': 'application/json',
        'retry-after': String(retryAfter),
        ...(isGlobal ? { 'x-ratelimit-global': 'true', 'x-ratelimit-scope': 'global' } : { 'x-ratelimit-scope': 'user' }),
      });
      response.end(JSON.stringify({ message: 'You are being rate limited.', retry_after: retryAfter, global: isGlobal }));
    } else if (status >= 500) response.writeHead(status).end('<html>Bad Gateway</html>');
    else
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ message: 'Missing Access', code: 50_001 }));
  }
}

function nameOf(method: string, path: string): CallName {
  if (/\/messages$/.test(path) && method === 'POST') return 'send';
  if (/\/messages\/\d+$/.test(path) && method === 'PATCH') return 'edit';
  if (path.startsWith('/attachments/')) return 'download';
  return path.endsWith('/gateway/bot') ? 'gateway' : 'other';
}

async function readBody(request: IncomingMessage): Promise<{ body: Record<string, unknown>; file: FakeFile | undefined }> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const data = Buffer.concat(pieces);
  const type = request.headers['content-type'] ?? '';
  if (data.length === 0) return { body: {}, file: undefined };
  if (!type.startsWith('multipart/form-data')) return { body: JSON.parse(String(data)), file: undefined };
  const form = await new Response(data, { headers: { 'content-type': type } }).formData();
  const file = form.get('files[0]');
  const body = JSON.parse(String(form.get('payload_json') ?? '{}'));
  return { body, file: file instanceof File ? { name: file.name, data: new Uint8Array(await file.arrayBuffer()) } : undefined };
}
