import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll } from 'vitest';
import { findDocker } from '../src/backends/docker/discover.ts';
import type { Engine as ContainerEngine } from '../src/backends/engine/engine.ts';
import { findImage } from '../src/backends/engine/image.ts';
import { removeTree } from '../src/backends/sandbox-directory.ts';
import type { Backend, Limits, OpenSandbox, SandboxSpec } from '../src/core/sandbox.ts';
import { backendOf, contextIn, type TestContext } from './backends.ts';
import type { Task } from './client.ts';
import { allProcesses, commandLine } from './processes.ts';
import { describeUnless } from './required.ts';
import { specWith } from './sandbox-spec.ts';

/** One backend as an installation of its own, with everything it makes in one place. */
export interface TestEngine {
  readonly kind: string;
  readonly backend: Backend;
  readonly context: TestContext;
  /** So much of its output a command may be ahead of whoever does not read it. */
  readonly maxBytesAhead: number;
  /** The streams of its commands are folded: processes of the sandbox relay what they print. */
  readonly isFolded: boolean;
  /** So many more processes there may be in a sandbox at one time than at another, in which as much runs. */
  readonly spareProcesses: number;
  /** What listeners were told, of every sandbox opened here. */
  readonly notices: readonly string[];
  /** A spec of a sandbox nobody else has. */
  spec(wishes?: Partial<SandboxSpec>): SandboxSpec;
  /** Ended and removed at the latest when all tests of the file are over. */
  open(spec: SandboxSpec, signal?: AbortSignal): Promise<OpenSandbox>;
  /** Its container engine, for a look behind the sandbox. */
  withEngine<T>(action: (engine: ContainerEngine) => Promise<T>): Promise<T>;
  /** Ends it as a crash or another program would: not by any call of ours. */
  endFromOutside(sandbox: OpenSandbox): Promise<void>;
  /** Another process of this installation. Resolves when it has done its task. */
  startClient(task: Pick<Task, 'spec' | 'action' | 'commands'>): Promise<Client>;
}

interface Client {
  answer: unknown;
  /** It lives on, with its connections, and does nothing. */
  freeze(): void;
  kill(): Promise<void>;
}

/** How the tests of a backend differ from those of the backend as it is found. */
export interface Variant {
  title?: string;
  docker?: Partial<TestContext['docker']>;
  /** In which engines and their keys are looked for. */
  environment?: TestContext['environment'];
  /** The options of a backend other than docker. */
  options?: TestContext['options'];
  maxBytesAhead?: number;
  isFolded?: boolean;
  spareProcesses?: number;
  /** The image of its sandboxes, where that is not the one of docker, and is known to be there. */
  image?: string;
  /** Of sandboxes whose test wants none. */
  limits?: Partial<Limits>;
  /** Finds the engine of a backend that has one other than docker's. */
  findEngine?(): Promise<ContainerEngine>;
  /** Ends the sandbox of this name, where killing the processes that came with it does not. */
  endFromOutside?(name: string): Promise<void>;
  /** Called when all tests of the file are over. */
  cleanUp?(context: TestContext): Promise<void>;
}

/** The tests of one backend; skipped with the reason where it cannot work, unless HERMETIC_TEST_REQUIRE names it. */
export async function describeBackend(kind: string, body: (engine: TestEngine) => void, variant?: Variant): Promise<void> {
  const found = contextIn(join(tmpdir(), `hermetic-sandboxes-${randomBytes(6).toString('hex')}`));
  const { options, environment = found.environment } = variant ?? {};
  const context = { ...found, environment, docker: { ...found.docker, ...variant?.docker }, ...(options && { options }) };
  const backend = backendOf(kind, context);
  const obstacle = await obstacleOf(backend, context, variant);
  if (obstacle !== undefined) console.warn(`${kind} is not tested: ${obstacle}`);
  describeUnless(obstacle, [kind], variant?.title ?? kind, () => body(new Engine(kind, backend, context, variant)));
}

/** Why the backend cannot be tested here. */
async function obstacleOf(backend: Backend, context: TestContext, variant: Variant | undefined): Promise<string | undefined> {
  const check = await backend.check(variant?.image);
  if (!check.usable) return `${check.reason} ${check.fix}`;
  if (backend.traits.honours.image !== true || variant?.image !== undefined) return undefined;
  // Nothing is pulled for a test.
  const image = await withDocker(context, (docker) => findImage(docker, context.docker.image));
  return image ? undefined : `the image ${context.docker.image} is not there; name another in HERMETIC_TEST_IMAGE`;
}

class Engine implements TestEngine {
  readonly kind: string;
  readonly backend: Backend;
  readonly context: TestContext;
  readonly maxBytesAhead: number;
  readonly isFolded: boolean;
  readonly spareProcesses: number;
  readonly notices: string[] = [];
  /** With the children of this process that it came with. */
  readonly #opened = new Map<OpenSandbox, number[]>();
  readonly #clients: ChildProcess[] = [];
  readonly #variant: Variant | undefined;

  constructor(kind: string, backend: Backend, context: TestContext, variant: Variant | undefined) {
    this.#variant = variant;
    this.maxBytesAhead = variant?.maxBytesAhead ?? 4 * 1024 * 1024;
    this.isFolded = variant?.isFolded ?? false;
    this.spareProcesses = variant?.spareProcesses ?? 3;
    this.kind = kind;
    this.backend = backend;
    this.context = context;
    afterAll(() => this.#removeEverything());
  }

  spec(wishes: Partial<SandboxSpec> = {}): SandboxSpec {
    const name = `test-${randomBytes(6).toString('hex')}`;
    const { honours } = this.backend.traits;
    return specWith({
      name,
      session: 'a test: "with" text, $HOME and ünïcode',
      directory: join(this.context.sandboxesDirectory, this.kind, name),
      image: honours.image === true ? (this.#variant?.image ?? this.context.docker.image) : undefined,
      limits: { cpus: 0, memoryMb: 1024, diskMb: 0, pids: 256, ...this.#variant?.limits },
      network: honours['network-none'] === true ? 'none' : undefined,
      ...wishes,
    });
  }

  async open(spec: SandboxSpec, signal?: AbortSignal): Promise<OpenSandbox> {
    const before = childrenOf(process.pid);
    const sandbox = await this.backend.open(spec, { notice: (text) => this.notices.push(text), progress: () => undefined }, signal);
    this.#opened.set(
      sandbox,
      childrenOf(process.pid).filter((pid) => !before.includes(pid)),
    );
    return sandbox;
  }

  async endFromOutside(sandbox: OpenSandbox): Promise<void> {
    const living = childrenOf(process.pid);
    for (const pid of this.#opened.get(sandbox) ?? []) if (living.includes(pid)) process.kill(pid, 'SIGKILL');
    if (this.#variant?.endFromOutside) await this.#variant.endFromOutside(sandbox.name);
    else if (this.#hasEngine) await this.withEngine((engine) => engine.kill(`hermetic-${sandbox.name}`));
  }

  get #hasEngine(): boolean {
    return this.kind === 'docker' || this.#variant?.findEngine !== undefined;
  }

  async withEngine<T>(action: (engine: ContainerEngine) => Promise<T>): Promise<T> {
    const engine = await (this.#variant?.findEngine?.() ?? findDocker({ environment: this.context.environment }));
    return await action(engine).finally(() => engine.close());
  }

  async startClient(task: Pick<Task, 'spec' | 'action' | 'commands'>): Promise<Client> {
    const program = join(import.meta.dirname, 'client.ts');
    const { egress: _, ...context } = this.context;
    const order: Task = { kind: this.kind, context, ...task };
    const child = spawn(process.execPath, ['--expose-gc', program, JSON.stringify(order)], { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#clients.push(child);
    const ended = once(child, 'close');
    for await (const line of createInterface(child.stdout)) {
      const kill = async (): Promise<void> => {
        child.kill('SIGKILL');
        await ended;
      };
      return { answer: JSON.parse(line), freeze: () => void child.kill('SIGSTOP'), kill };
    }
    throw new Error('the client ended without an answer');
  }

  async #removeEverything(): Promise<void> {
    for (const client of this.#clients) client.kill('SIGKILL');
    await Promise.allSettled([...this.#opened.keys()].map((sandbox) => sandbox.destroy()));
    for (const remains of await this.backend.list()) await remains.destroy();
    await this.#variant?.cleanUp?.(this.context);
    if (this.#hasEngine) await this.withEngine((engine) => removeContainers(engine, this.context.installation));
    await removeTree(this.context.sandboxesDirectory);
  }
}

export async function withDocker<T>(
  { environment }: Pick<TestContext, 'environment'>,
  action: (docker: ContainerEngine) => Promise<T>,
): Promise<T> {
  const docker = await findDocker({ environment });
  return await action(docker).finally(() => docker.close());
}

async function removeContainers(docker: ContainerEngine, installation: string): Promise<void> {
  for (const { id } of await docker.list({ 'hermetic.installation': installation })) await docker.remove(id);
}

export function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) => childrenOfTask(`/proc/${pid}/task/${task}`));
}

/** None for a thread that has ended. */
function childrenOfTask(task: string): number[] {
  try {
    return readFileSync(`${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** Processes anywhere on this machine, in whatever sandbox, that have this word on their command line. */
export function processesWith(word: string): number[] {
  return allProcesses().filter((pid) => commandLine(pid).includes(word));
}
