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

/** Of the provider: it goes on only when a test says so. */
export interface Clock {
  seconds: number;
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
  readonly #clock: Clock;
  readonly definition: Definition;
  readonly tags: readonly Tag[];
  readonly disk: string;
  readonly ended: Promise<{ status: number; exitcode: number }>;
  readonly #pod: NodePod;
  /** In seconds of the provider's clock; undefined while a process runs that was started through the interface. */
  #idleSince: number | undefined;
  #running = 0;
  #status: number | undefined;
  result: { status: number; exitcode: number } | undefined;

  constructor(pod: NodePod, disk: string, definition: Definition, tags: readonly Tag[], clock: Clock) {
    this.#pod = pod;
    this.disk = disk;
    this.definition = definition;
    this.tags = tags;
    this.#clock = clock;
    this.createdAt = clock.seconds;
    this.#idleSince = clock.seconds;
    this.ended = pod.exited.then((exitcode) => {
      this.result = { status: this.#status ?? (exitcode === 0 ? endings.success : endings.failure), exitcode };
      return this.result;
    });
  }

  end(status: number): void {
    this.#status ??= status;
    this.#pod.end(0);
  }

  /** The same id starts nothing again. */
  async exec(id: string, command: readonly string[]): Promise<void> {
    if (this.execs.has(id)) return;
    this.#running += 1;
    this.#idleSince = undefined;
    const exec = new FakeExec(await this.#pod.exec(command));
    this.execs.set(id, exec);
    void exec.process.exited.then(() => {
      this.#running -= 1;
      if (this.#running === 0) this.#idleSince = this.#clock.seconds;
    });
  }

  /** Ends it when one of its times is over. */
  lookAtTheClock(): void {
    const { timeoutSecs, idleTimeoutSecs = Number.POSITIVE_INFINITY } = this.definition;
    const { seconds } = this.#clock;
    if (seconds >= this.createdAt + timeoutSecs) this.end(endings.timeout);
    else if (this.#idleSince !== undefined && seconds >= this.#idleSince + idleTimeoutSecs) this.end(endings.idle);
  }
}
