import type { IncomingMessage, ServerResponse } from 'node:http';
import { loopbackHttp } from '../loopback-server.ts';
import { methods, Refusal } from './methods.ts';
import { SocketMode } from './socket-mode.ts';
import { type FakeWorkspace, SlackWorld } from './world.ts';

/** One thing that goes wrong. */
export interface Failure {
  status?: number;
  /** What Slack names as the reason. */
  error?: string;
  needed?: string;
  /** Seconds. */
  retryAfter?: number;
  /** The connection ends: before anything happened, or after it and before the answer. */
  cut?: 'before' | 'after';
  /** The answer, as it is. */
  body?: string;
  location?: string;
  /** Not before this. */
  after?: Promise<void>;
}

/** A server on this machine that is to an app what Slack is. */
export class FakeSlack {
  readonly appToken = 'xapp-1-A1-secret-of-the-app';
  readonly sockets: SocketMode;
  readonly world: SlackWorld;
  /** Every call that arrived, also those that failed. */
  readonly calls: { method: string; given: Record<string, unknown>; token: string | undefined }[] = [];
  /** What the header about scopes says; undefined: there is none. */
  scopes: string | undefined;
  isAppRevoked = false;
  readonly #server = loopbackHttp((request, response) => this.#serve(request, response));
  readonly #failures = new Map<string, Failure[]>();

  private constructor() {
    this.sockets = new SocketMode(() => this.root);
    this.world = new SlackWorld(
      (type, payload, mayAnswer) => this.sockets.deliver(type, payload, mayAnswer),
      () => this.#server.origin,
    );
    this.#server.server.on('upgrade', (request, socket, head) => this.sockets.accept(request, socket, head));
  }

  static async start(): Promise<FakeSlack> {
    const slack = new FakeSlack();
    await slack.comeUp();
    return slack;
  }

  /** What an app is told to talk to. */
  get root(): string {
    return `${this.#server.origin}/api`;
  }

  callsOf(method: string): Record<string, unknown>[] {
    return this.calls.filter((call) => call.method === method).map(({ given }) => given);
  }

  /** The next calls of a method fail; `download` and `upload` are of files. */
  fail(method: string, failure: Failure, times = 1): void {
    this.#failures.set(method, [...(this.#failures.get(method) ?? []), ...Array.from({ length: times }, () => failure)]);
  }

  /** Refuses connections and ends those there are. */
  async goDown(): Promise<void> {
    this.sockets.terminateAll();
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
    const { pathname } = new URL(request.url ?? '/', this.root);
    const data = await readAll(request);
    const [, kind = '', rest = ''] = /^\/([\w-]+)\/(.*)$/.exec(pathname) ?? [];
    const method = kind === 'upload' ? 'upload' : kind === 'files-pri' ? 'download' : rest;
    const given = kind === 'api' ? parsed(String(data)) : { file: rest };
    const token = request.headers.authorization?.replace(/^Bearer /, '');
    this.calls.push({ method, given, token });
    const failure = this.#failures.get(method)?.shift();
    await failure?.after;
    if (failure?.cut === 'before') {
      request.socket.destroy();
      return;
    }
    if (failure && failure.cut === undefined && failure.after === undefined) {
      fail(response, failure);
      return;
    }
    const { status, body } = kind === 'api' ? this.#call(method, given, token) : this.#file(kind, rest, token, data);
    if (failure?.cut === 'after') request.socket.destroy();
    else if (body instanceof Uint8Array) response.writeHead(status).end(body);
    else {
      const scopes = this.scopes === undefined ? {} : { 'x-oauth-scopes': this.scopes };
      response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...scopes }).end(JSON.stringify(body));
    }
  }

  #call(method: string, given: Record<string, unknown>, token: string | undefined): { status: number; body: object } {
    try {
      if (method === 'apps.connections.open') {
        if (token !== this.appToken) throw new Refusal('invalid_auth');
        if (this.isAppRevoked) throw new Refusal('token_revoked');
        return { status: 200, body: { ok: true, url: this.sockets.newAddress() } };
      }
      const workspace = this.#workspaceOf(token);
      const run = methods[method];
      if (!run) throw new Refusal('unknown_method');
      return { status: 200, body: { ok: true, ...run({ world: this.world, workspace, given, root: this.root }) } };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { status: 200, body: { ok: false, error: error.message } };
    }
  }

  #workspaceOf(token: string | undefined): FakeWorkspace {
    const found = this.world.workspaces.find((one) => one.token === token);
    if (!found) throw new Refusal('invalid_auth');
    if (found.isRevoked) throw new Refusal('token_revoked');
    return found;
  }

  #file(kind: string, id: string, token: string | undefined, data: Buffer): { status: number; body: Uint8Array } {
    const file = this.world.files.get(id);
    if (!file) return { status: 404, body: Buffer.from('no such file') };
    if (kind === 'upload') {
      // The address alone is the permission.
      if (token !== undefined) return { status: 400, body: Buffer.from('a token was sent along') };
      file.data = data;
      return { status: 200, body: Buffer.from(`OK - ${data.length}`) };
    }
    const owner = this.world.workspaces.find((one) => one.token === token);
    return owner?.team === file.team ? { status: 200, body: file.data } : { status: 403, body: Buffer.from('forbidden') };
  }
}

function fail(response: ServerResponse, { status, error, needed, retryAfter, body, location }: Failure): void {
  if (location !== undefined) response.writeHead(302, { location }).end();
  else if (status === 429) response.writeHead(429, { 'retry-after': String(retryAfter) }).end('{"ok":false,"error":"ratelimited"}');
  else if (body !== undefined) response.writeHead(status ?? 200, { 'content-type': 'text/html' }).end(body);
  else if (error !== undefined)
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ ok: false, error, needed }));
  else response.writeHead(status ?? 500).end('<html>Bad Gateway</html>');
}

function parsed(form: string): Record<string, unknown> {
  const entries = [...new URLSearchParams(form)].map(([key, value]) => [
    key,
    /^[[{]/.test(value) && key !== 'text' ? JSON.parse(value) : value,
  ]);
  return Object.fromEntries(entries);
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}
