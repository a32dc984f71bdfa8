import { randomUUID } from 'node:crypto';
import type { CreateSandbox, Sandbox, SandboxListItem, SandboxState } from '@daytona/api-client';
import type { FakeMachines } from '../cloud/machines.ts';
import type { NodePod } from '../kubernetes/node.ts';

/** A refusal as the API words it. */
export class ApiRefusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const minuteMs = 60_000;
/** They last until someone has asked. */
const slowStates: readonly SandboxState[] = ['building_snapshot', 'restoring'];

/** The first process of a sandbox, which takes care of those that lost their parent, as the daemon of Daytona does. */
const daemon = ['bash', '-c', 'trap exit TERM; while :; do sleep 1000 & wait; done'];

/** One sandbox, which is a bubblewrap of this machine. */
export class FakeSandbox {
  readonly id = randomUUID();
  readonly wishes: CreateSandbox;
  readonly createdAt = new Date();
  state: SandboxState = 'pending_build';
  desiredState: NonNullable<Sandbox['desiredState']> = 'started';
  errorReason: string | undefined;
  isRecoverable = false;
  /** On the clock of the fake. */
  lastActivityAt: number;
  stoppedAt = 0;
  token: { text: string; expiresAt: number } | undefined;
  /** Channels that are open. */
  channels = 0;
  machine: NodePod | undefined;
  #seen = Promise.withResolvers<void>();
  readonly #disk: string;
  readonly #machines: FakeMachines;

  constructor(wishes: CreateSandbox, machines: FakeMachines, now: number) {
    this.wishes = wishes;
    this.#machines = machines;
    this.#disk = machines.makeDisk();
    this.lastActivityAt = now;
  }

  get name(): string {
    return this.wishes.name ?? this.id;
  }

  get isGone(): boolean {
    return this.state === 'destroyed';
  }

  /** The directories of its Dockerfile are all that it has beyond those of every machine. */
  get #directories(): string[] {
    const { dockerfileContent = '' } = this.wishes.buildInfo ?? {};
    return [...dockerfileContent.matchAll(/^WORKDIR (\S+)$/gm)].map(([, path = '']) => path);
  }

  async start(before: readonly SandboxState[], now: number): Promise<void> {
    this.desiredState = 'started';
    for (const state of [...before, 'starting' as const]) {
      this.state = state;
      this.#seen = Promise.withResolvers<void>();
      if (slowStates.includes(state)) await this.#seen.promise;
    }
    if (this.desiredState !== 'started') return;
    const memoryMb = (this.wishes.memory ?? 1) * 1024;
    const machine = await this.#machines.start(this.#disk, { command: daemon, kept: this.#directories, memoryMb, env: { HOME: '/root' } });
    this.machine = machine;
    this.lastActivityAt = now;
    this.state = 'started';
    void machine.exited.then(() => {
      if (this.machine === machine) this.machine = undefined;
    });
  }

  async stop(now: number): Promise<void> {
    this.desiredState = 'stopped';
    this.state = 'stopping';
    await this.#endMachine();
    this.stoppedAt = now;
    this.state = 'stopped';
    if (this.wishes.autoDeleteInterval === 0) await this.destroy();
  }

  async destroy(): Promise<void> {
    this.desiredState = 'destroyed';
    this.state = 'destroying';
    await this.#endMachine();
    this.#machines.removeDisk(this.#disk);
    this.state = 'destroyed';
  }

  async #endMachine(): Promise<void> {
    const { machine } = this;
    machine?.end(0);
    await machine?.exited;
  }

  /** Has its own clock look at it. */
  async pass(now: number): Promise<void> {
    const { autoStopInterval = 15, autoDeleteInterval = -1, autoArchiveInterval = 7 * 24 * 60, ttlMinutes = 0 } = this.wishes;
    const idle = (now - this.lastActivityAt) / minuteMs;
    const stopped = (now - this.stoppedAt) / minuteMs;
    if (ttlMinutes > 0 && now - this.createdAt.getTime() >= ttlMinutes * minuteMs) await this.destroy();
    else if (this.state === 'started' && this.channels === 0 && autoStopInterval > 0 && idle >= autoStopInterval) await this.stop(now);
    else if (this.state === 'stopped' && autoDeleteInterval >= 0 && stopped >= autoDeleteInterval) await this.destroy();
    else if (this.state === 'stopped' && stopped >= autoArchiveInterval) this.state = 'archived';
  }

  /** Someone has asked how it is. */
  look(): Sandbox & SandboxListItem {
    this.#seen.resolve();
    return this.describe();
  }

  describe(): Sandbox & SandboxListItem {
    const { wishes } = this;
    return {
      id: this.id,
      organizationId: 'organization',
      name: this.name,
      user: wishes.user ?? 'daytona',
      env: wishes.env ?? {},
      labels: wishes.labels ?? {},
      public: wishes.public ?? false,
      networkBlockAll: wishes.networkBlockAll ?? false,
      target: wishes.target ?? 'us',
      cpu: wishes.cpu ?? 1,
      gpu: 0,
      memory: wishes.memory ?? 1,
      disk: wishes.disk ?? 3,
      state: this.state,
      desiredState: this.desiredState,
      ...(this.errorReason !== undefined && { errorReason: this.errorReason }),
      recoverable: this.isRecoverable,
      ...(wishes.autoStopInterval !== undefined && { autoStopInterval: wishes.autoStopInterval }),
      ...(wishes.autoDeleteInterval !== undefined && { autoDeleteInterval: wishes.autoDeleteInterval }),
      createdAt: this.createdAt.toISOString(),
      toolboxProxyUrl: '',
    } satisfies Sandbox & SandboxListItem;
  }
}
