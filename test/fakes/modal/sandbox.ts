import { randomBytes, randomUUID } from 'node:crypto';
import type { MachineWishes } from '../cloud/machines.ts';
import type { NodePod } from '../kubernetes/node.ts';
import { FakeExec } from './exec.ts';

/** How a sandbox ended, in the numbers of the protocol. */
export const endings = { success: 1, failure: 2, terminated: 3, timeout: 4, idle: 7 } as const;

export interface Definition {
  imageId: string;
  entrypointArgs: string[];
  timeoutSecs: number;
  idleTimeoutSecs?: number;
  networkAccess?: { networkAccessType: number };
  resources?: { memoryMbMax: number; milliCpuMax: number; milliCpu: number; memoryMb: number };
}

export interface Tag {
  tagName: string;
  tagValue: string;
}

/** Directories whose files are kept with a disk. */
export const kept: MachineWishes['kept'] = ['/root', '/workspace'];

/** One sandbox of the fake: a machine, both clocks of the provider, and the processes that were started in it. */
export class FakeSandbox {
  // Longer than the ids of the first version of the interface.
  readonly id = `sb-${randomBytes(13).toString('hex').toUpperCase()}`;
  readonly taskId = `ta-${randomUUID()}`;
  readonly execs = new Map<string, FakeExec>();
  readonly createdAt: number;
  readonly definition: Definition;
  readonly tags: readonly Tag[];
  readonly disk: string;
  readonly ended: Promise<{ status: number; exitcode: number }>;
  readonly #pod: NodePod;
  readonly #secondMs: number;
  readonly #timeout: NodeJS.Timeout;
  #idle: NodeJS.Timeout | undefined;
  #running = 0;
  #status: number | undefined;
  result: { status: number; exitcode: number } | undefined;

  constructor(pod: NodePod, disk: string, definition: Definition, tags: readonly Tag[], clock: { now: number; secondMs: number }) {
    this.#pod = pod;
    this.disk = disk;
    this.definition = definition;
    this.tags = tags;
    this.createdAt = clock.now;
    this.#secondMs = clock.secondMs;
    this.#timeout = setTimeout(() => this.end(endings.timeout), definition.timeoutSecs * this.#secondMs);
    this.ended = pod.exited.then((exitcode) => {
      clearTimeout(this.#timeout);
      clearTimeout(this.#idle);
      return (this.result = { status: this.#status ?? (exitcode === 0 ? endings.success : endings.failure), exitcode });
    });
    this.#watchIdle();
  }

  end(status: number): void {
    this.#status ??= status;
    this.#pod.end(0);
  }

  /** The same id starts nothing again. */
  async exec(id: string, command: readonly string[]): Promise<void> {
    if (this.execs.has(id)) return;
    this.#running += 1;
    clearTimeout(this.#idle);
    const exec = new FakeExec(await this.#pod.exec(command));
    this.execs.set(id, exec);
    void exec.process.exited.then(() => {
      this.#running -= 1;
      this.#watchIdle();
    });
  }

  /** It is idle while no process runs that was started through the interface. */
  #watchIdle(): void {
    const { idleTimeoutSecs } = this.definition;
    if (idleTimeoutSecs === undefined || this.#running > 0 || this.result) return;
    this.#idle = setTimeout(() => this.end(endings.idle), idleTimeoutSecs * this.#secondMs);
  }
}
