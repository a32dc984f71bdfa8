import type { IncomingMessage, ServerResponse } from 'node:http';
import { FakeMachines } from '../cloud/machines.ts';
import { type LoopbackServer, loopbackHttp } from '../loopback-server.ts';
import { FakeSandbox, type FakeSession, type SandboxWishes } from './sandbox.ts';

/** Answers a request in place of the API, before or after the API has done what it asks for. */
export interface Fault {
  /** Of the method and the path. */
  matches: RegExp;
  when?: 'before' | 'after';
  /** How many requests; all when it is not given. */
  times?: number;
  answer(response: ServerResponse): void;
}

class Refused extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Small, so that a list has several. */
const pageSize = 2;
const hour = 3_600_000;
/** A machine of Vercel has no such limit. This one has, for the sake of this one. */
const maxPids = 1_000;

/** The API of Vercel for sandboxes, on loopback. Its machines are sandboxes of this one. */
export class FakeVercel {
  readonly environment = { VERCEL_TOKEN: 'token-of-the-test', VERCEL_TEAM_ID: 'team_test', VERCEL_PROJECT_ID: 'prj_test' };
  readonly sandboxes = new Map<string, FakeSandbox>();
  /** Methods and paths of everything that was asked. */
  readonly requests: string[] = [];
  readonly faults: Fault[] = [];
  /** The longest time of a machine in this plan. */
  maxMs = 24 * hour;
  /** Answers do not tell of the network of a machine. */
  forgetsPolicies = false;
  readonly #machines = new FakeMachines(maxPids);
  readonly #server: LoopbackServer;
  readonly #logs = new Set<ServerResponse>();

  private constructor() {
    this.#server = loopbackHttp((request, response) => this.#serve(request, response));
  }

  static async start(): Promise<FakeVercel> {
    const fake = new FakeVercel();
    await fake.#server.comeUp();
    return fake;
  }

  get root(): string {
    return `${this.#server.origin}/api`;
  }

  async close(): Promise<void> {
    await Promise.all([...this.sandboxes.values()].map((sandbox) => sandbox.remove()));
    await this.#server.goDown();
    this.#machines.close();
  }

  goDown(): Promise<void> {
    return this.#server.goDown();
  }

  comeUp(): Promise<void> {
    return this.#server.comeUp();
  }

  /** Cuts the streams of logs, as what stands between a program and Vercel does from time to time. */
  cutLogs(): void {
    for (const response of this.#logs) response.destroy();
  }

  /** The sandbox of a spec with this name. */
  sandboxOf(name: string): FakeSandbox {
    const found = [...this.sandboxes.values()].find((one) => one.wishes.tags?.['hermetic-name'] === name);
    if (!found) throw new Error(`no sandbox belongs to ${name}`);
    return found;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', this.root);
    const what = `${request.method} ${url.pathname.replace(/^\/api/, '')}`;
    const body = await bodyOf(request);
    this.requests.push(what);
    const fault = this.#faultFor(what);
    if (fault && fault.when !== 'after') return fault.answer(response);
    try {
      this.#admit(request, url);
      const answer = await this.#route(what, url, body, request, fault ? undefined : response);
      if (fault) fault.answer(response);
      else if (answer !== undefined) send(response, 200, answer);
    } catch (error) {
      if (fault) return fault.answer(response);
      const { status, code, message } = error instanceof Refused ? error : new Refused(500, 'internal', String(error));
      send(response, status, { error: { code, message } });
    }
  }

  #faultFor(what: string): Fault | undefined {
    const fault = this.faults.find(({ matches, times = 1 }) => times > 0 && matches.test(what));
    if (fault?.times !== undefined) fault.times -= 1;
    return fault;
  }

  #admit(request: IncomingMessage, url: URL): void {
    const { VERCEL_TOKEN, VERCEL_TEAM_ID } = this.environment;
    if (request.headers.authorization !== `Bearer ${VERCEL_TOKEN}`) throw new Refused(401, 'forbidden', 'Not authorized');
    if (url.searchParams.get('teamId') !== VERCEL_TEAM_ID) throw new Refused(403, 'forbidden', 'You are not a member of this team.');
  }

  /** undefined when the answer has been sent. */
  async #route(what: string, url: URL, body: Buffer, request: IncomingMessage, response: ServerResponse | undefined): Promise<unknown> {
    if (/^POST \/v[23]\/sandboxes$/.test(what)) return await this.#create(jsonOf<SandboxWishes>(body));
    if (what === 'GET /v2/sandboxes') return this.#list(url);
    const [, method, id = '', rest = ''] = /^(\w+) \/v2\/sandboxes\/sessions\/([^/]+)(.*)$/.exec(what) ?? [];
    if (method !== undefined) return await this.#ofSession(`${method} ${rest}`, this.#session(id), body, request, response);
    const [, verb, name = ''] = /^(\w+) \/v2\/sandboxes\/([^/]+)$/.exec(what) ?? [];
    const sandbox = this.sandboxes.get(name);
    if (verb === undefined || !sandbox) throw new Refused(404, 'not_found', `Sandbox ${name} not found.`);
    if (verb === 'DELETE') {
      this.sandboxes.delete(name);
      await sandbox.remove();
      return { sandbox: sandbox.json() };
    }
    if (url.searchParams.get('resume') === 'true' && !(await this.#resume(sandbox))) {
      throw new Refused(410, 'snapshot_not_found', 'The snapshot does not exist any more.');
    }
    return this.#both(sandbox);
  }

  #both(sandbox: FakeSandbox): unknown {
    const policy = this.forgetsPolicies ? { networkPolicy: undefined } : {};
    return { sandbox: { ...sandbox.json(), ...policy }, session: { ...sandbox.session.json(), ...policy }, routes: [] };
  }

  async #resume(sandbox: FakeSandbox): Promise<boolean> {
    if (sandbox.session.status === 'stopping') throw new Refused(422, 'sandbox_stopping', 'The sandbox is stopping.');
    return await sandbox.resume();
  }

  async #create(wishes: SandboxWishes): Promise<unknown> {
    if (this.sandboxes.has(wishes.name)) throw new Refused(409, 'conflict', 'A sandbox of this name exists.');
    if (wishes.timeout > this.maxMs) throw new Refused(400, 'bad_request', 'The timeout exceeds the maximum of your plan.');
    if (Object.keys(wishes.tags ?? {}).length > 5) throw new Refused(400, 'bad_request', 'At most 5 tags.');
    const sandbox = await FakeSandbox.create(this.#machines, wishes, this.maxMs);
    this.sandboxes.set(wishes.name, sandbox);
    return this.#both(sandbox);
  }

  #list(url: URL): unknown {
    const wanted = url.searchParams.getAll('tags').map((text) => text.split(':'));
    const all = [...this.sandboxes.values()].filter(({ wishes }) => wanted.every(([key = '', value]) => wishes.tags?.[key] === value));
    const from = Number(url.searchParams.get('cursor') ?? 0);
    const page = all.slice(from, from + pageSize);
    const next = from + pageSize < all.length ? String(from + pageSize) : null;
    return { sandboxes: page.map((sandbox) => sandbox.json()), pagination: { count: page.length, next } };
  }

  #session(id: string): FakeSession {
    const sandbox = [...this.sandboxes.values()].find(({ session }) => session.id === id);
    // One that was stopped, whether or not another runs in its place.
    if (sandbox?.session.status !== 'running') throw new Refused(410, 'sandbox_stopped', 'The sandbox has stopped.');
    return sandbox.session;
  }

  async #ofSession(
    what: string,
    session: FakeSession,
    body: Buffer,
    request: IncomingMessage,
    response: ServerResponse | undefined,
  ): Promise<unknown> {
    if (what === 'POST /cmd') return await this.#run(session, body, response);
    if (what === 'POST /stop') {
      await session.stop();
      const sandbox = [...this.sandboxes.values()].find((one) => one.session === session);
      return { session: session.json(), sandbox: sandbox?.json(), snapshot: sandbox?.snapshotJson() };
    }
    if (what === 'POST /extend-timeout') {
      const { duration } = jsonOf<{ duration: number }>(body);
      if (!session.extend(duration)) throw new Refused(400, 'bad_request', 'The timeout exceeds the maximum of your plan.');
      return { session: session.json() };
    }
    if (what === 'POST /fs/write') {
      if (!(await session.write(body, String(request.headers['x-cwd'])))) throw new Refused(400, 'bad_request', 'It cannot be unpacked.');
      return {};
    }
    const [, id = '', logs] = /^GET \/cmd\/([^/]+)(\/logs)?$/.exec(what) ?? [];
    const command = session.commands.get(id);
    if (!command) throw new Refused(404, 'not_found', 'There is no such command.');
    if (logs === undefined) return { command: command.record };
    if (!response) return undefined;
    begin(response);
    this.#logs.add(response);
    await command.tell(response);
    this.#logs.delete(response);
    response.end();
    return undefined;
  }

  async #run(session: FakeSession, body: Buffer, response: ServerResponse | undefined): Promise<unknown> {
    const { wait, ...wishes } = jsonOf<Parameters<FakeSession['run']>[0] & { wait?: boolean }>(body);
    const command = await session.run(wishes);
    if (!wait) return { command: command.record };
    if (!response) return void (await command.ended());
    begin(response);
    response.write(`${JSON.stringify({ command: command.record })}\n`);
    await command.tell(response);
    response.end(`${JSON.stringify({ command: command.record })}\n`);
    session.commands.delete(command.record.id);
    command.remove();
    return undefined;
  }
}

function begin(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/x-ndjson' }).flushHeaders();
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function jsonOf<T>(body: Buffer): T {
  return JSON.parse(body.toString() || '{}') as T;
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
