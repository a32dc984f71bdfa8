import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import type { FakeMachines } from '../cloud/machines.ts';
import type { NodePod } from '../kubernetes/node.ts';
import { FakeCommand } from './command.ts';

/** The one directory that belongs to the user of a machine. */
const ownDirectory = '/vercel/sandbox';
const user = 1000;

export interface SandboxWishes {
  name: string;
  timeout: number;
  persistent?: boolean;
  image?: string;
  region?: string;
  resources?: { vcpus: number };
  networkPolicy?: { mode: string };
  tags?: Record<string, string>;
  snapshotExpiration?: number;
  keepLastSnapshots?: { count: number };
}

export interface CommandWishes {
  command: string;
  args?: string[];
  cwd?: string;
  env?: Record<string, string>;
}

type Status = 'pending' | 'running' | 'stopping' | 'stopped' | 'failed';

/** A named sandbox: its disk, and one machine after another. */
export class FakeSandbox {
  readonly wishes: SandboxWishes;
  readonly createdAt = Date.now();
  readonly #machines: FakeMachines;
  readonly #maxMs: number;
  #disk: string;
  #snapshotId: string | undefined;
  session: FakeSession;

  private constructor(machines: FakeMachines, wishes: SandboxWishes, maxMs: number) {
    this.#machines = machines;
    this.wishes = wishes;
    this.#maxMs = maxMs;
    this.#disk = machines.makeDisk();
    this.session = this.#newSession();
  }

  static async create(machines: FakeMachines, wishes: SandboxWishes, maxMs: number): Promise<FakeSandbox> {
    const sandbox = new FakeSandbox(machines, wishes, maxMs);
    await sandbox.session.begun;
    return sandbox;
  }

  #newSession(): FakeSession {
    const memoryMb = (this.wishes.resources?.vcpus ?? 2) * 2048;
    const pod = this.#machines.start(this.#disk, { command: firstProcess, kept: [dirname(ownDirectory)], user, memoryMb });
    return new FakeSession(pod, this.wishes, { maxMs: this.#maxMs, stopped: () => this.#saved() });
  }

  #saved(): void {
    if (this.wishes.persistent ?? true) this.#snapshotId = `snap_${randomUUID()}`;
    else {
      this.#machines.removeDisk(this.#disk);
      this.#disk = this.#machines.makeDisk();
    }
  }

  /** Its snapshot is gone, as after it has expired. */
  dropSnapshot(): void {
    this.#snapshotId = undefined;
  }

  /** Brings it back from its snapshot. False when there is none. */
  async resume(): Promise<boolean> {
    if (this.session.status === 'running') return true;
    if (this.#snapshotId === undefined) return false;
    this.session = this.#newSession();
    await this.session.begun;
    return true;
  }

  async remove(): Promise<void> {
    await this.session.stop();
    for (const command of this.session.commands.values()) command.remove();
    this.#machines.removeDisk(this.#disk);
  }

  json(): Record<string, unknown> {
    const { name, persistent = true, tags, timeout, networkPolicy, image, region } = this.wishes;
    return {
      ...{ name, persistent, tags, timeout, networkPolicy, image, region, createdAt: this.createdAt, updatedAt: this.createdAt },
      ...{ currentSessionId: this.session.id, currentSnapshotId: this.#snapshotId, status: this.session.status },
    };
  }

  snapshotJson(): Record<string, unknown> | undefined {
    if (this.#snapshotId === undefined) return undefined;
    const at = Date.now();
    return {
      ...{ id: this.#snapshotId, sourceSessionId: this.session.id, region: 'iad1', status: 'created', sizeBytes: 1 },
      ...{ createdAt: at, updatedAt: at },
    };
  }
}

/** Waits without an end, and without a process for each moment of it. */
const firstProcess = ['bash', '-c', 'exec {nothing}<> <(:); while :; do read -rt 60 _ <&"$nothing"; done'];

/** One machine of a sandbox, which ends by its own clock. */
export class FakeSession {
  readonly id = `sbx_${randomUUID()}`;
  readonly begun: Promise<void>;
  readonly commands = new Map<string, FakeCommand>();
  readonly #wishes: SandboxWishes;
  readonly #how: { maxMs: number; stopped(): void };
  readonly #startedAt = Date.now();
  #pod: NodePod | undefined;
  #timeoutMs: number;
  #clock: NodeJS.Timeout | undefined;
  #stopping: Promise<void> | undefined;
  status: Status = 'pending';

  constructor(pod: Promise<NodePod>, wishes: SandboxWishes, how: { maxMs: number; stopped(): void }) {
    this.#wishes = wishes;
    this.#how = how;
    this.#timeoutMs = wishes.timeout;
    this.begun = pod.then(async (started) => {
      await (await started.exec(['mkdir', '-p', ownDirectory])).exited;
      this.#pod = started;
      this.status = 'running';
      this.#wind();
    });
  }

  #wind(): void {
    clearTimeout(this.#clock);
    this.#clock = setTimeout(() => void this.stop(), this.#startedAt + this.#timeoutMs - Date.now()).unref();
  }

  /** False when the plan does not allow it. */
  extend(ms: number): boolean {
    if (this.#timeoutMs + ms > this.#how.maxMs) return false;
    this.#timeoutMs += ms;
    this.#wind();
    return true;
  }

  get endsInMs(): number {
    return this.#startedAt + this.#timeoutMs - Date.now();
  }

  async run({ command, args = [], cwd = ownDirectory, env = {} }: CommandWishes): Promise<FakeCommand> {
    if (!this.#pod) throw new Error('the machine has not begun');
    const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    const process = await this.#pod.exec(['env', '-C', cwd, ...variables, command, ...args]);
    const started = new FakeCommand(process, { name: command, args, cwd, sessionId: this.id });
    this.commands.set(started.record.id, started);
    return started;
  }

  /** Unpacks an archive. */
  async write(archive: Buffer, cwd: string): Promise<boolean> {
    if (!this.#pod) return false;
    const process = await this.#pod.exec(['bash', '-c', 'echo; exec tar -C "$1" -xzf -', 'write', cwd]);
    // What is written before there is a reader is lost.
    process.stdout.once('data', () => process.stdin.end(archive));
    process.stderr.resume();
    return (await process.exited) === 0;
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    await this.begun;
    clearTimeout(this.#clock);
    this.status = 'stopping';
    this.#pod?.end(0);
    await this.#pod?.exited;
    for (const command of this.commands.values()) command.lose();
    this.#how.stopped();
    this.status = 'stopped';
  }

  json(): Record<string, unknown> {
    const { resources: { vcpus } = { vcpus: 2 }, region = 'iad1', networkPolicy } = this.#wishes;
    const at = this.#startedAt;
    return {
      ...{ id: this.id, vcpus, memory: vcpus * 2048, region, timeout: this.#timeoutMs, status: this.status, networkPolicy },
      ...{ requestedAt: at, startedAt: at, createdAt: at, updatedAt: at, cwd: ownDirectory },
    };
  }
}
