import { randomBytes } from 'node:crypto';
import { FakeMachines } from '../cloud/machines.ts';
import type { FakeExec } from './exec.ts';
import { type Clock, type Definition, endings, FakeSandbox, kept, type Tag } from './sandbox.ts';
import { type Call, control, type Method, WireError, WireServer, worker } from './wire.ts';

const statuses = { notFound: 5, failedPrecondition: 9, unauthenticated: 16 };

interface FakeImage {
  /** undefined: of a registry. */
  disk: string | undefined;
  ttlSeconds: number | undefined;
}

/** Modal on this machine: the control plane, and the worker that runs the commands, in the vendor's own protocol. Needs root. */
export class FakeModal {
  readonly tokenId = 'ak-test';
  readonly tokenSecret = `as-${randomBytes(8).toString('hex')}`;
  readonly sandboxes = new Map<string, FakeSandbox>();
  readonly images = new Map<string, FakeImage>();
  /** Lists everything, also what was not asked for. */
  ignoresTags = false;
  /** Told of every process instead of its own. */
  exitCode: number | undefined;
  readonly #machines = new FakeMachines();
  readonly #apps = new Set<string>();
  readonly #clock: Clock = { seconds: Date.now() / 1000 };
  #control: WireServer | undefined;
  #worker: WireServer | undefined;

  private constructor() {}

  static async start(): Promise<FakeModal> {
    const fake = new FakeModal();
    fake.#control = await WireServer.start(control, fake.#controlMethods());
    fake.#worker = await WireServer.start(worker, fake.#workerMethods());
    return fake;
  }

  get control(): WireServer {
    if (!this.#control) throw new Error('it has not started');
    return this.#control;
  }

  get worker(): WireServer {
    if (!this.#worker) throw new Error('it has not started');
    return this.#worker;
  }

  get environment(): Record<string, string> {
    return { MODAL_SERVER_URL: this.control.origin, MODAL_TOKEN_ID: this.tokenId, MODAL_TOKEN_SECRET: this.tokenSecret };
  }

  get running(): FakeSandbox[] {
    return [...this.sandboxes.values()].filter(({ result }) => !result);
  }

  /** So many seconds pass for the clocks of the provider. */
  passTime(seconds: number): void {
    this.#clock.seconds += seconds;
    for (const sandbox of this.running) sandbox.lookAtTheClock();
  }

  async close(): Promise<void> {
    for (const sandbox of this.running) sandbox.end(endings.terminated);
    await Promise.all(this.running.map(({ ended }) => ended));
    await Promise.all([this.control.close(), this.worker.close()]);
    this.#machines.close();
  }

  #controlMethods(): Record<string, Method> {
    const authenticated =
      (method: Method): Method =>
      (request, call) => {
        const { 'x-modal-token-id': id, 'x-modal-token-secret': secret } = call.headers;
        if (id !== this.tokenId || secret !== this.tokenSecret) throw new WireError(statuses.unauthenticated, 'Token ID is malformed');
        return method(request, call);
      };
    const methods: Record<string, Method> = {
      authTokenGet: async () => ({ token: token() }),
      tokenInfoGet: async () => ({ workspaceName: 'test-workspace', tokenId: this.tokenId }),
      environmentGetOrCreate: async () => ({
        environmentId: 'en-1',
        metadata: { name: 'main', settings: { imageBuilderVersion: '2025.06' } },
      }),
      appGetOrCreate: async ({ appName, objectCreationType }) => {
        if (objectCreationType !== 1 && !this.#apps.has(appName)) throw new WireError(statuses.notFound, `App ${appName} not found`);
        this.#apps.add(appName);
        return { appId: `ap-${appName}` };
      },
      imageGetOrCreate: async ({ image }) => ({ imageId: this.#addImage(image.dockerfileCommands[0]) }),
      imageJoinStreaming: (request) => this.#join(request.imageId),
      imageFromId: async ({ imageId }) => ({ imageId: this.#imageOf(imageId) && imageId }),
      imageDelete: async ({ imageId }) => this.#deleteImage(imageId),
      sandboxCreateV2: ({ definition, tags }) => this.#create(definition, tags),
      sandboxTerminateV2: async ({ sandboxId }) => {
        this.#sandboxOf(sandboxId).end(endings.terminated);
        return {};
      },
      sandboxWaitV2: ({ sandboxId, timeout }, call) => this.#wait(sandboxId, timeout, call),
      sandboxGetTaskIdV2: async ({ sandboxId }) => {
        const { taskId, result } = this.#sandboxOf(sandboxId);
        return result ? { taskResult: result } : { taskId };
      },
      sandboxGetCommandRouterAccess: async () => ({ url: this.worker.origin.replace('http:', 'https:'), jwt: token() }),
      sandboxListV2: async ({ tags, beforeTimestamp }) => ({ sandboxes: this.#list(tags, beforeTimestamp) }),
    };
    return Object.fromEntries(Object.entries(methods).map(([name, method]) => [name, authenticated(method)]));
  }

  #workerMethods(): Record<string, Method> {
    return {
      taskExecStart: async ({ taskId, execId, commandArgs }) => {
        await this.#taskOf(taskId).exec(execId, commandArgs);
        return {};
      },
      taskExecStdinWrite: async ({ taskId, execId, offset, data, eof }) => {
        await this.#execOf(taskId, execId).write(offset, data, eof);
        return {};
      },
      taskExecStdioRead: ({ taskId, execId, offset, fileDescriptor }, { signal }) =>
        this.#execOf(taskId, execId).read(fileDescriptor, offset, signal),
      taskExecWait: async ({ taskId, execId }) => {
        const code = await this.#execOf(taskId, execId).process.exited;
        return { code: this.exitCode ?? code };
      },
      taskSnapshotFilesystem: async ({ taskId, ttlSeconds }) => {
        const disk = this.#machines.makeDisk(this.#taskOf(taskId).disk);
        const imageId = `im-${randomBytes(11).toString('hex')}`;
        this.images.set(imageId, { disk, ttlSeconds });
        return { imageId };
      },
    };
  }

  #addImage(command: string): string {
    const id = `im-${Buffer.from(command).toString('hex').slice(0, 40)}`;
    this.images.set(id, { disk: undefined, ttlSeconds: undefined });
    return id;
  }

  async *#join(imageId: string): AsyncGenerator<object> {
    this.#imageOf(imageId);
    yield { entryId: '1', taskLogs: [{ data: 'Extracting layers\n' }] };
    yield { entryId: '2', result: { status: endings.success } };
  }

  #imageOf(id: string): FakeImage {
    const image = this.images.get(id);
    if (!image) throw new WireError(statuses.failedPrecondition, `Could not find image with ID ${id}`);
    return image;
  }

  #deleteImage(id: string): object {
    const { disk } = this.#imageOf(id);
    if (disk !== undefined) this.#machines.removeDisk(disk);
    this.images.delete(id);
    return {};
  }

  async #create(definition: Definition, tags: readonly Tag[]): Promise<object> {
    const disk = this.#machines.makeDisk(this.#imageOf(definition.imageId).disk);
    const memoryMb = definition.resources?.memoryMbMax ?? 0;
    const pod = await this.#machines.start(disk, { command: definition.entrypointArgs, memoryMb, kept, env: { HOME: '/root' } });
    // No two are equally old: a list goes on where its last answer ended.
    this.#clock.seconds += 0.001;
    const sandbox = new FakeSandbox(pod, disk, definition, tags, this.#clock);
    this.sandboxes.set(sandbox.id, sandbox);
    return { sandboxId: sandbox.id, taskId: sandbox.taskId };
  }

  async #wait(id: string, timeout: number, { signal }: Call): Promise<object> {
    const sandbox = this.#sandboxOf(id);
    const late = AbortSignal.any([signal, AbortSignal.timeout(timeout * 1000)]);
    if (timeout > 0 && !sandbox.result) {
      await Promise.race([sandbox.ended, new Promise((resolve) => late.addEventListener('abort', resolve, { once: true }))]);
    }
    return { result: sandbox.result };
  }

  #list(tags: readonly Tag[], before: number): object[] {
    return this.running
      .filter((one) => before === 0 || one.createdAt < before)
      .filter(
        (one) =>
          this.ignoresTags || tags.every((tag) => one.tags.some((own) => own.tagName === tag.tagName && own.tagValue === tag.tagValue)),
      )
      .sort((a, b) => b.createdAt - a.createdAt)
      .map(({ id, tags: own, createdAt }) => ({ id, tags: own, createdAt }));
  }

  #sandboxOf(id: string): FakeSandbox {
    const sandbox = this.sandboxes.get(id);
    if (!sandbox) throw new WireError(statuses.notFound, `Sandbox ${id} not found`);
    return sandbox;
  }

  #taskOf(id: string): FakeSandbox {
    const sandbox = this.running.find(({ taskId }) => taskId === id);
    if (!sandbox) throw new WireError(statuses.notFound, `task ${id} is not running here`);
    return sandbox;
  }

  #execOf(task: string, id: string): FakeExec {
    const sandbox = [...this.sandboxes.values()].find(({ taskId }) => taskId === task);
    const exec = sandbox?.execs.get(id);
    if (!exec) throw new WireError(statuses.notFound, `there is no process ${id}`);
    return exec;
  }
}

/** As far as the package looks into one: when it ends. */
function token(): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'none' })}.${part({ exp: Math.floor(Date.now() / 1000) + 3600 })}.x`;
}
