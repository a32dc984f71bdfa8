import { availableParallelism } from 'node:os';
import { HermeticError } from '../../core/errors.ts';
import type { OpenListener } from '../../core/sandbox.ts';
import { PlaceNotices } from './place-notices.ts';
import { type Opened, PooledSandbox } from './pooled-sandbox.ts';
import { Slots } from './slots.ts';

export interface PoolOptions<Session> {
  /** How many may run at once. */
  most: number;
  /** How long one may be idle. */
  idleMs: number;
  /** How long after the last command a process that was left running keeps one open; 0: for as long as it runs. */
  backgroundMs: number;
  /** How often a session that waits is told its place again, at most. */
  tellEveryMs?: number;
  /** Equal for what is the same session. */
  nameOf(session: Session): string;
  /** Opens or finds the sandbox, when there is room for it. */
  open(session: Session, listener: OpenListener, signal?: AbortSignal): Promise<Opened>;
}

/** A sandbox that runs and that this pool has not opened. */
export interface FoundSandbox {
  /** As `nameOf` calls its session. */
  name: string;
  lastUsedAt: Date;
  /** Ends it unless it is in use. Resolves with whether it does not run any more. */
  stop(force: boolean): Promise<boolean>;
}

/** What takes a place and may be made to give it back. */
interface Holder {
  /** undefined while it is in use. */
  idleSince: number | undefined;
  /** Resolves with whether it was ended. */
  reclaim(): Promise<boolean>;
}

const quiet: OpenListener = { notice: () => undefined, progress: () => undefined };
const betweenLooksMs = 2_000;
const tellEveryMs = 5_000;
const ordinal = (place: number): string => (place === 1 ? 'next' : `number ${place}`);

/** One sandbox per session, opened when it is first used. When there are too many, the one idle for longest goes first, and others wait in line. */
export class SandboxPool<Session> {
  readonly #options: PoolOptions<Session>;
  readonly #slots: Slots;
  /** Making sandboxes is work for the processor: more at once take longer each. */
  readonly #making = new Slots(availableParallelism());
  readonly #sandboxes = new Map<string, PooledSandbox>();
  readonly #found = new Map<string, Holder & { giveBack(): void }>();
  readonly #giveBack = new Map<string, () => void>();
  readonly #stopping = new AbortController();

  constructor(options: PoolOptions<Session>) {
    this.#options = options;
    this.#slots = new Slots(options.most);
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

  /** These run already, from an earlier program or of another one, and count. Those that are too many are ended, as far as nothing uses them. */
  async adopt(found: readonly FoundSandbox[]): Promise<void> {
    const { backgroundMs } = this.#options;
    for (const { name, lastUsedAt, stop } of found) {
      if (this.#found.has(name) || this.#sandboxes.get(name)?.isOpen) continue;
      const giveBack = this.#slots.occupy();
      const idleSince = lastUsedAt.getTime();
      const reclaim = async (): Promise<boolean> => {
        const isOverdue = backgroundMs > 0 && Date.now() - idleSince >= backgroundMs;
        const isEnded = await stop(isOverdue).catch(() => false);
        // Its session may have come for it meanwhile, and has its place then.
        if (!isEnded || !this.#found.delete(name)) return false;
        giveBack();
        return true;
      };
      this.#found.set(name, { idleSince, reclaim, giveBack });
    }
    while (this.#slots.free < 0 && (await this.#endIdlest()));
  }

  async #openOne(name: string, session: Session, listener: OpenListener, signal: AbortSignal | undefined): Promise<Opened> {
    const giveBack = await this.#takePlace(name, listener, signal);
    this.#giveBack.set(name, giveBack);
    try {
      this.#stopping.signal.throwIfAborted();
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

  async #takePlace(name: string, listener: OpenListener, signal: AbortSignal | undefined): Promise<() => void> {
    const found = this.#found.get(name);
    if (found) {
      this.#found.delete(name);
      return found.giveBack;
    }
    this.#stopping.signal.throwIfAborted();
    const say = (text: string): void => listener.notice(text, text);
    const places = new PlaceNotices(
      (place) => say(`All sandboxes are in use. This session is ${ordinal(place)} in line.`),
      this.#options.tellEveryMs ?? tellEveryMs,
    );
    if (this.#slots.free <= 0) await this.#endIdlest();
    // A process that keeps an idle sandbox may end meanwhile, or have kept it for too long, which no event tells.
    const lookAgain = setInterval(() => this.#makeRoom(), betweenLooksMs).unref();
    try {
      // What keeps the others may outlive this program, so that stopping must not wait for it.
      const over = AbortSignal.any([this.#stopping.signal, ...(signal ? [signal] : [])]);
      const giveBack = await this.#slots.take((place) => places.changed(place), over);
      if (places.isWaiting) say('It is the turn of this session: its sandbox is being opened.');
      return giveBack;
    } finally {
      clearInterval(lookAgain);
      places.stop();
    }
  }

  /** Whoever waits in line need not wait until an idle sandbox has been idle for long. */
  #makeRoom(): void {
    if (this.#slots.waiting > 0) void this.#endIdlest().catch(() => undefined);
  }

  /** Its state and files return with the session. One in which something still runs is passed over. Resolves with whether there was one. */
  async #endIdlest(): Promise<boolean> {
    const holders: Holder[] = [...this.#sandboxes.values(), ...this.#found.values()];
    const idle = holders.filter(({ idleSince }) => idleSince !== undefined);
    idle.sort((a, b) => (a.idleSince ?? 0) - (b.idleSince ?? 0));
    for (const holder of idle) if (await holder.reclaim()) return true;
    return false;
  }

  /** How many more may run beside those of sessions. */
  get room(): number {
    return Math.max(this.#slots.free, 0);
  }

  get open(): readonly PooledSandbox[] {
    return [...this.#sandboxes.values()].filter((sandbox) => sandbox.isOpen);
  }

  /** Lets go of everything, for good. Durable sandboxes go on until they have been idle for too long. */
  async stop(): Promise<void> {
    this.#stopping.abort(new HermeticError('sandbox/lost', 'The command did not start: all sandboxes were closed.'));
    await Promise.all(this.open.map((sandbox) => sandbox.end()));
  }
}
