import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import type { ApiKeyList, CreateSandbox, ListSandboxesResponse, SshAccessDto } from '@daytona/api-client';
import { FakeMachines } from '../cloud/machines.ts';
import { loopbackHttp } from '../loopback-server.ts';
import { FakeGateway } from './gateway.ts';
import { ApiRefusal, FakeSandbox } from './sandboxes.ts';

/** Instead of an answer of the API. */
export type Fault = { status: number; body: string; headers?: Record<string, string> } | 'cut' | 'half' | 'silent' | 'after';

export interface Call {
  method: string;
  path: string;
}

const minuteMs = 60_000;

/** The API of Daytona on loopback, and its ssh gateway. Its sandboxes are those of `FakeMachines`. Needs root. */
export class FakeDaytona {
  readonly apiKey = randomBytes(16).toString('hex');
  /** Folded streams take many processes. */
  readonly machines = new FakeMachines(600);
  readonly sandboxes = new Map<string, FakeSandbox>();
  readonly calls: Call[] = [];
  readonly gateway = new FakeGateway((token) => this.#enter(token));
  /** The images that can be fetched. */
  readonly images = new Set(['test:image']);
  permissions: ApiKeyList['permissions'] = ['write:sandboxes', 'delete:sandboxes'];
  maxSandboxes = Number.POSITIVE_INFINITY;
  /** Decides about a call before the API does. `after`: the API does it, and its answer is lost. */
  fault: (call: Call) => Fault | undefined = () => undefined;
  #now = Date.now();
  readonly #built = new Set<string>();
  readonly #server = loopbackHttp((request, response) => this.#serve(request, response));

  static async start(): Promise<FakeDaytona> {
    const cloud = new FakeDaytona();
    await Promise.all([cloud.#server.comeUp(), cloud.gateway.start()]);
    return cloud;
  }

  get environment(): Record<string, string> {
    return { DAYTONA_API_KEY: this.apiKey, DAYTONA_API_URL: `${this.#server.origin}/api` };
  }

  /** Those that are not destroyed. */
  get left(): FakeSandbox[] {
    return [...this.sandboxes.values()].filter((sandbox) => !sandbox.isGone);
  }

  /** The clocks of all sandboxes go on by so much. */
  async pass(minutes: number): Promise<void> {
    this.#now += minutes * minuteMs;
    for (const sandbox of this.left) await sandbox.pass(this.#now);
  }

  async close(): Promise<void> {
    await Promise.all([this.#server.goDown(), this.gateway.close()]);
    await Promise.all(this.left.map((sandbox) => sandbox.destroy()));
    this.machines.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://localhost');
    const call = { method: request.method ?? '', path: url.pathname.replace(/^\/api/, '') };
    this.calls.push(call);
    const fault = this.fault(call);
    if (fault === 'silent') return;
    if (fault === 'cut') return void response.destroy();
    if (typeof fault === 'object') return void response.writeHead(fault.status, fault.headers).end(fault.body);
    const { status, answer } = await this.#answer(call, url, request);
    if (fault === 'after') return void response.destroy();
    const text = JSON.stringify(answer);
    response.writeHead(status, { 'content-type': 'application/json', ...(fault === 'half' && { 'content-length': text.length }) });
    if (fault !== 'half') return void response.end(text);
    response.write(text.slice(0, text.length / 2));
    setTimeout(() => response.destroy(), 20);
  }

  async #answer(call: Call, url: URL, request: IncomingMessage): Promise<{ status: number; answer: unknown }> {
    try {
      if (request.headers.authorization !== `Bearer ${this.apiKey}`) throw new ApiRefusal(401, 'Invalid credentials');
      return { status: 200, answer: await this.#route(call, url, request) };
    } catch (error) {
      if (!(error instanceof ApiRefusal)) throw error;
      return { status: error.status, answer: { statusCode: error.status, message: error.message, path: call.path } };
    }
  }

  async #route({ method, path }: Call, url: URL, request: IncomingMessage): Promise<unknown> {
    const [, first, name = '', action = ''] = path.split('/').map(decodeURIComponent);
    if (first === 'api-keys' && name === 'current') return this.#key();
    if (first !== 'sandbox') throw new ApiRefusal(404, `Cannot ${method} ${path}`);
    if (name === '') return method === 'POST' ? this.#create((await json(request)) as CreateSandbox) : this.#list(url.searchParams);
    const sandbox = this.#find(name);
    switch (`${method} ${action}`) {
      case 'GET ':
        return sandbox.look();
      case 'DELETE ':
        assertSettled(sandbox);
        void sandbox.destroy();
        return sandbox.describe();
      case 'POST start':
        return this.#start(sandbox);
      case 'POST stop':
        assertSettled(sandbox);
        if (sandbox.state !== 'started') throw new ApiRefusal(400, 'Sandbox is not started');
        void sandbox.stop(this.#now);
        return sandbox.describe();
      case 'POST recover':
        if (!sandbox.isRecoverable) throw new ApiRefusal(400, 'Sandbox is not recoverable');
        sandbox.isRecoverable = false;
        sandbox.errorReason = undefined;
        void sandbox.start([], this.#now);
        return sandbox.describe();
      case 'POST ssh-access':
        return this.#access(sandbox, Number(url.searchParams.get('expiresInMinutes') ?? 60));
      default:
        throw new ApiRefusal(404, `Cannot ${method} ${path}`);
    }
  }

  #key(): ApiKeyList {
    const dates = { createdAt: new Date(), lastUsedAt: null, expiresAt: null };
    return { name: 'tests', value: 'dtn_********', permissions: this.permissions, userId: 'user', ...dates } satisfies ApiKeyList;
  }

  #create(wishes: CreateSandbox): unknown {
    const { buildInfo, snapshot, cpu, memory, disk, name } = wishes;
    if (!buildInfo && (cpu || memory || disk)) throw new ApiRefusal(400, 'Cannot specify Sandbox resources when using a snapshot');
    if (buildInfo && snapshot) throw new ApiRefusal(400, 'Cannot specify a snapshot when using a build info entry');
    if ((disk ?? 0) > 10) throw new ApiRefusal(403, `Disk request ${disk}GB exceeds maximum allowed per sandbox (10GB).`);
    if (this.left.some((one) => one.name === name)) throw new ApiRefusal(409, `Sandbox with name ${name} already exists`);
    if (this.left.filter(({ state }) => state === 'started').length >= this.maxSandboxes) {
      throw new ApiRefusal(403, `Total CPU limit exceeded. Maximum allowed: ${this.maxSandboxes}.`);
    }
    const sandbox = new FakeSandbox(wishes, this.machines, this.#now);
    this.sandboxes.set(sandbox.id, sandbox);
    void this.#build(sandbox);
    return sandbox.describe();
  }

  async #build(sandbox: FakeSandbox): Promise<void> {
    const { dockerfileContent = '' } = sandbox.wishes.buildInfo ?? {};
    const [, image = ''] = /^FROM (\S+)\n/.exec(dockerfileContent) ?? [];
    if (this.images.has(image)) {
      const building = this.#built.has(dockerfileContent) ? [] : (['building_snapshot', 'pulling_snapshot'] as const);
      await sandbox.start([...building, 'creating'], this.#now);
      this.#built.add(dockerfileContent);
    } else {
      sandbox.state = 'build_failed';
      sandbox.errorReason = `failed to resolve source metadata for ${image}: not found`;
    }
  }

  #start(sandbox: FakeSandbox): unknown {
    assertSettled(sandbox);
    if (sandbox.state !== 'stopped' && sandbox.state !== 'archived') throw new ApiRefusal(400, 'Sandbox is not in valid state');
    void sandbox.start(sandbox.state === 'archived' ? ['restoring'] : [], this.#now);
    return sandbox.describe();
  }

  #list(query: URLSearchParams): ListSandboxesResponse {
    const labels = Object.entries(JSON.parse(query.get('labels') ?? '{}') as Record<string, string>);
    const all = this.left.filter(({ wishes }) => labels.every(([name, value]) => wishes.labels?.[name] === value));
    const [from, size] = [Number(query.get('cursor') ?? 0), Math.min(Number(query.get('limit') ?? 100), this.pageSize)];
    const items = all.slice(from, from + size).map((sandbox) => sandbox.describe());
    return { items, nextCursor: from + size < all.length ? String(from + size) : null } satisfies ListSandboxesResponse;
  }

  pageSize = 100;

  /** Earlier ones are void. */
  #access(sandbox: FakeSandbox, minutes: number): SshAccessDto {
    const [text, expiresAt] = [randomBytes(16).toString('hex'), this.#now + minutes * minuteMs];
    sandbox.token = { text, expiresAt };
    const dates = { createdAt: new Date(), updatedAt: new Date(), expiresAt: new Date(expiresAt) };
    const sshCommand = `ssh -p ${this.gateway.port} ${text}@127.0.0.1`;
    return { id: 'access', sandboxId: sandbox.id, token: text, sshCommand, ...dates } satisfies SshAccessDto;
  }

  async #enter(token: string): Promise<FakeSandbox | undefined> {
    const sandbox = this.left.find((one) => one.token?.text === token && one.token.expiresAt > this.#now);
    return sandbox?.state === 'started' ? sandbox : undefined;
  }

  #find(idOrName: string): FakeSandbox {
    const sandbox = this.left.find(({ id, name }) => id === idOrName || name === idOrName);
    if (!sandbox) throw new ApiRefusal(404, `Sandbox with ID or name ${idOrName} not found`);
    return sandbox;
  }
}

function assertSettled({ state, desiredState }: FakeSandbox): void {
  const isSettled =
    state === desiredState || state === 'error' || state === 'build_failed' || (state === 'archived' && desiredState === 'stopped');
  if (!isSettled) throw new ApiRefusal(409, 'Sandbox state change in progress');
}
