import { availableParallelism } from 'node:os';
import { HermeticError } from '../../core/errors.ts';
import type { OpenListener } from '../../core/sandbox.ts';
import { type Opened, PooledSandbox } from './pooled-sandbox.ts';
import { Slots } from './slots.ts';

export interface PoolOptions<Session> {
  /** How many may be open at once. */
  most: number;
  /** How long one may be idle. */
  idleMs: number;
  /** How long after the last command a process that was left running keeps one open; 0: for as long as it runs. */
  backgroundMs: number;
  /** Equal for what is the same session. */
  nameOf(session: Session): string;
  open(session: Session, listener: OpenListener, signal?: AbortSignal): Promise<Opened>;
}

const quiet: OpenListener = { notice: () => undefined, progress: () => undefined };
const betweenLooksMs = 2_000;
const ordinal = (place: number): string => (place === 1 ? 'next' : `number ${place}`);

/** One sandbox per session, opened when it is first used. When there are too many, the one idle for longest goes first, and others wait in line. */
export class SandboxPool<Session> {
  readonly #options: PoolOptions<Session>;
  readonly #open: Slots;
  /** Making sandboxes is work for the processor: more at once take longer each. */
  readonly #making = new Slots(availableParallelism());
  readonly #sandboxes = new Map<string, PooledSandbox>();
  readonly #giveBack = new Map<string, () => void>();
  #stopped = false;

  constructor(options: PoolOptions<Session>) {
    this.#options = options;
    this.#open = new Slots(options.most);
  }

  /** The same object for the same session. Nothing is opened yet. Without a listener, whoever is told stays the same. */
  sandboxOf(session: Session, listener?: OpenListener): PooledSandbox {
    const name = this.#options.nameOf(session);
    const known = this.#sandboxes.get(name);
    if (known) {
      if (listener) known.listener = listener;
      return known;
    }
    const { idleMs, backgroundMs } = this.#options;
    const sandbox = new PooledSandbox(
      {
        name,
        idleMs,
        backgroundMs,
        open: (told, signal) => this.#openOne(name, session, told, signal),
        rested: () => this.#makeRoom(),
        closed: () => this.#giveBack.get(name)?.(),
      },
      listener ?? quiet,
    );
    this.#sandboxes.set(name, sandbox);
    return sandbox;
  }

  async #openOne(name: string, session: Session, listener: OpenListener, signal: AbortSignal | undefined): Promise<Opened> {
    if (this.#stopped) throw new HermeticError('sandbox/lost', 'The command did not start: all sandboxes were closed.');
    const tell = (place: number): void =>
      listener.notice(
        `All sandboxes are in use. This session is ${ordinal(place)} in line.`,
        'All sandboxes are in use. This one waits in line.',
      );
    if (this.#open.free === 0) await this.#closeIdlest();
    // A process that keeps an idle sandbox may end meanwhile, or have kept it for too long, which no event tells.
    const lookAgain = setInterval(() => this.#makeRoom(), betweenLooksMs).unref();
    const giveBack = await this.#open.take(tell, signal).finally(() => clearInterval(lookAgain));
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

  /** Its state and files return with the session. One in which something still runs is passed over. */
  async #closeIdlest(): Promise<void> {
    const idle = [...this.#sandboxes.values()].filter((sandbox) => sandbox.idleSince !== undefined);
    idle.sort((a, b) => (a.idleSince ?? 0) - (b.idleSince ?? 0));
    for (const sandbox of idle) if (await sandbox.reclaim()) return;
  }

  get open(): readonly PooledSandbox[] {
    return [...this.#sandboxes.values()].filter((sandbox) => sandbox.isOpen);
  }

  /** Lets go of everything, for good. Durable sandboxes go on until they have been idle for too long. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.open.map((sandbox) => sandbox.end()));
  }
}
