import { availableParallelism } from 'node:os';
import type { OpenListener } from '../../core/sandbox.ts';
import { type Opened, PooledSandbox } from './pooled-sandbox.ts';
import { Slots } from './slots.ts';

export interface PoolOptions {
  /** How many may be open at once. */
  most: number;
  /** How long one may be idle. */
  idleMs: number;
  nameOf(session: readonly string[]): string;
  open(session: readonly string[], listener: OpenListener, signal?: AbortSignal): Promise<Opened>;
  fingerprint(session: readonly string[]): string;
}

const ordinal = (place: number): string => (place === 1 ? 'next' : `number ${place}`);

/** One sandbox per session, opened when it is first used. When there are too many, the one idle for longest goes first, and others wait in line. */
export class SandboxPool {
  readonly #options: PoolOptions;
  readonly #open: Slots;
  /** Making sandboxes is work for the processor: more at once take longer each. */
  readonly #making = new Slots(availableParallelism());
  readonly #sandboxes = new Map<string, PooledSandbox>();
  readonly #giveBack = new Map<string, () => void>();

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#open = new Slots(options.most);
  }

  /** The same object for the same session. Nothing is opened yet. */
  sandboxOf(session: readonly string[], listener: OpenListener): PooledSandbox {
    const name = this.#options.nameOf(session);
    const known = this.#sandboxes.get(name);
    if (known) {
      known.listener = listener;
      return known;
    }
    const { idleMs } = this.#options;
    const sandbox = new PooledSandbox(
      {
        name,
        idleMs,
        open: (told, signal) => this.#openOne(name, session, told, signal),
        fingerprint: () => this.#options.fingerprint(session),
        rested: () => this.#makeRoom(),
        closed: () => this.#giveBack.get(name)?.(),
      },
      listener,
    );
    this.#sandboxes.set(name, sandbox);
    return sandbox;
  }

  async #openOne(name: string, session: readonly string[], listener: OpenListener, signal: AbortSignal | undefined): Promise<Opened> {
    const tell = (place: number): void => listener.notice(`All sandboxes are in use. This session is ${ordinal(place)} in line.`);
    if (this.#open.free === 0) await this.#closeIdlest();
    const giveBack = await this.#open.take(tell, signal);
    this.#giveBack.set(name, giveBack);
    try {
      const made = await this.#making.take(() => undefined, signal);
      try {
        return await this.#options.open(session, listener, signal);
      } finally {
        made();
      }
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  /** Whoever waits in line need not wait until an idle sandbox has been idle for long. */
  #makeRoom(): void {
    if (this.#open.waiting > 0) void this.#closeIdlest().catch(() => undefined);
  }

  /** Its state and files return with the session. */
  async #closeIdlest(): Promise<void> {
    const idle = [...this.#sandboxes.values()].filter((sandbox) => sandbox.idleSince !== undefined);
    idle.sort((a, b) => (a.idleSince ?? 0) - (b.idleSince ?? 0));
    await idle[0]?.close();
  }

  get open(): readonly PooledSandbox[] {
    return [...this.#sandboxes.values()].filter((sandbox) => sandbox.isOpen);
  }

  /** Lets go of everything. Durable sandboxes go on until they have been idle for too long. */
  async stop(): Promise<void> {
    await Promise.all(this.open.map((sandbox) => sandbox.end()));
  }
}
