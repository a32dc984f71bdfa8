import { randomUUID } from 'node:crypto';
import type { CloudListing, CloudProvider, CloudState, CloudWish } from '../../../src/backends/cloud/provider.ts';
import { HermeticError } from '../../../src/core/errors.ts';
import type { Attach } from '../../../src/shell/streams/attached-command.ts';
import type { NodePod } from '../kubernetes/node.ts';
import { FakeMachines } from './machines.ts';

interface Entry {
  labels: Readonly<Record<string, string>>;
  createdAt: Date;
  disk: string;
  machine: NodePod | undefined;
  wish: CloudWish;
}

/** A provider without a network between: machines of this one. `saves`: files die with a sandbox, unless they were saved. */
export class FakeProvider implements CloudProvider {
  readonly home = '/root';
  readonly workspace = '/workspace';
  readonly renewal = { everyMs: 60_000, renew: async () => void this.renewals++ };
  readonly checkpoints: CloudProvider['checkpoints'];
  readonly entries = new Map<string, Entry>();
  readonly disks = new Map<string, string>();
  renewals = 0;
  /** Whose credentials are used. Others see nothing. */
  user = 'a test';
  /** It lists, saves and stops nothing. */
  isBroken = false;
  /** There is no room for another sandbox, nor for a copy of a disk. */
  isFull = false;
  readonly #machines = new FakeMachines();

  constructor({ saves }: { saves: boolean }) {
    if (!saves) return;
    this.checkpoints = {
      everyMs: 60_000,
      save: async (reference) => this.#save(this.#running(reference)),
      remove: async (reference) => void this.disks.delete(reference),
    };
  }

  async account(): Promise<string> {
    return `the fake provider as ${this.user}`;
  }

  async owner(): Promise<string> {
    return this.account();
  }

  async create(wish: CloudWish): Promise<string> {
    if (this.isFull) throw new HermeticError('sandbox/no-room', 'The fake provider has no room.');
    return await this.#start(wish, this.#machines.makeDisk());
  }

  async state(reference: string): Promise<CloudState> {
    if (this.user !== 'a test') return 'gone';
    if (this.disks.has(reference)) return 'stopped';
    const entry = this.entries.get(reference);
    return entry ? (entry.machine ? 'running' : 'stopped') : 'gone';
  }

  async resume(reference: string, wish: CloudWish): Promise<string> {
    const saved = this.disks.get(reference);
    if (saved !== undefined) return await this.#start(wish, this.#machines.makeDisk(saved));
    const entry = this.entries.get(reference) ?? missing();
    entry.machine = await this.#machine(entry.disk, entry);
    return reference;
  }

  attach(reference: string): Attach {
    return async (command) => {
      const { stdin, stdout, stderr, exited } = await (this.#running(reference).machine ?? missing()).exec(command);
      const all = [stdin, stdout, stderr];
      return {
        stdin,
        stdout,
        stderr,
        exitCode: () => exited,
        ref: () => undefined,
        unref: () => undefined,
        destroy: () => {
          for (const stream of all) stream.destroy();
        },
      };
    };
  }

  async stop(reference: string): Promise<string> {
    const entry = this.entries.get(reference);
    if (this.isBroken) throw new HermeticError('backend/not-running', 'The fake provider does not stop it.');
    if (!entry) return reference;
    const saved = this.checkpoints ? this.#save(entry) : reference;
    await this.end(reference);
    return saved;
  }

  async remove(reference: string): Promise<void> {
    await this.end(reference);
    this.entries.delete(reference);
    this.disks.delete(reference);
  }

  async list(labels: Readonly<Record<string, string>>): Promise<CloudListing[]> {
    if (this.isBroken) throw new HermeticError('backend/not-running', 'The fake provider does not answer.');
    const isWanted = (entry: Entry): boolean => Object.entries(labels).every(([name, value]) => entry.labels[name] === value);
    return [...this.entries]
      .filter(([, entry]) => isWanted(entry))
      .map(([reference, entry]) => ({ ...entry, reference, state: entry.machine ? 'running' : 'stopped' }));
  }

  /** As the clock of a provider does. */
  async end(reference: string): Promise<void> {
    const entry = this.entries.get(reference);
    const machine = entry?.machine;
    if (this.checkpoints) this.entries.delete(reference);
    if (!entry || !machine) return;
    entry.machine = undefined;
    machine.end(0);
    await machine.exited;
  }

  async close(): Promise<void> {
    for (const reference of this.entries.keys()) await this.remove(reference);
    this.#machines.close();
  }

  #running(reference: string): Entry {
    const entry = this.entries.get(reference);
    return entry?.machine ? entry : missing();
  }

  #save({ disk }: Entry): string {
    if (this.isBroken || this.isFull) throw new HermeticError('backend/not-running', 'The fake provider saves nothing.');
    const reference = `saved-${randomUUID()}`;
    this.disks.set(reference, this.#machines.makeDisk(disk));
    return reference;
  }

  async #start(wish: CloudWish, disk: string): Promise<string> {
    const reference = `sandbox-${randomUUID()}`;
    const entry: Entry = { labels: wish.labels, createdAt: new Date(), disk, machine: undefined, wish };
    entry.machine = await this.#machine(disk, entry);
    this.entries.set(reference, entry);
    return reference;
  }

  #machine(disk: string, { wish }: Entry): Promise<NodePod> {
    const { memoryMb } = wish.spec.limits;
    return this.#machines.start(disk, { command: ['sleep', 'infinity'], kept: [this.home, this.workspace], memoryMb });
  }
}

function missing(): never {
  throw new HermeticError('sandbox/lost', 'The fake provider has no such sandbox that runs.');
}
