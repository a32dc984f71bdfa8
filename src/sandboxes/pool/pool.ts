import { availableParallelism } from 'node:os';
import { HermeticError } from '../../core/errors.ts';
import { type OpenListener, quiet } from '../../core/sandbox.ts';
import { Latest } from '../../lib/latest.ts';
import { pause } from '../../lib/pause.ts';
import { PlaceNotices } from './place-notices.ts';
import { type Opened, PooledSandbox, type PoolListener } from './pooled-sandbox.ts';
import { Slots } from './slots.ts';

export interface PoolOptions<Session, T extends OpenedInPool = OpenedInPool> {
  /** How many may run at once. */
  maxOpen: number;
  /** How long one may be idle. */
  idleMs: number;
  /** How long after the last command a process that was left running keeps one open; 0: for as long as it runs. */
  backgroundMs: number;
  /** How often a session that waits is told its place again, at most. */
  tellEveryMs?: number;
  /** Equal for requests of the same session. */
  nameOf(session: Session): string;
  /** Opens or finds the sandbox, when there is room for it. */
  open(session: Session, listener: OpenListener, signal?: AbortSignal): Promise<T>;
  /** How often it is tried again to end one that could not be. */
  stopAgainEveryMs?: number;
}

export interface OpenedInPool extends Opened {
  /** After ending it failed: the same as `stop` of one that was found. */
  stopAgain(): Promise<boolean>;
}

/** A sandbox that runs and that this pool has not opened. */
export interface FoundSandbox {
  /** As `nameOf` calls its session. */
  name: string;
  lastUsedAt: Date;
  /** Ends it unless it is in use. Resolves with whether it does not run any more. */
  stop(force: boolean): Promise<boolean>;
}

/** Takes a place and can be made to give it back. */
interface Holder {
  /** undefined while it is in use. */
  idleSince: number | undefined;
  /** Resolves with whether it was ended. */
  reclaim(): Promise<boolean>;
}

/** A sandbox that runs and that this pool has not open: its session takes over its place. */
interface Kept extends Holder {
  giveBack(): void;
}

interface Place {
  giveBack(): void;
  stopAgain(): Promise<boolean>;
}

const betweenLooksMs = 2_000;
const tellEveryMs = 5_000;
const stopAgainEveryMs = 60_000;
const ordinal = (place: number): string => (place === 1 ? 'next' : `number ${place}`);

/** One sandbox per session, opened when it is first used. When there are too many, the one idle for longest goes first, and others wait in line. */
export class SandboxPool<Session, T extends OpenedInPool = OpenedInPool> {
  readonly #options: PoolOptions<Session, T>;
  readonly #slots: Slots;
  /** Making sandboxes is work for the processor: more at once take longer each. */
  readonly #making = new Slots(availableParallelism());
  readonly #sandboxes = new Latest<PooledSandbox<T>>({ isNeeded: ({ isOpen }) => isOpen });
  readonly #kept = new Map<string, Kept>();
  readonly #places = new Map<string, Place>();
  readonly #stopping = new AbortController();

  constructor(options: PoolOptions<Session, T>) {
    this.#options = options;
    this.#slots = new Slots(options.maxOpen);
  }

  /** The same object for the same session. Nothing is opened yet. Without a listener, the one before stays. */
  sandboxOf(session: Session, listener?: OpenListener): PooledSandbox<T> {
    const name = this.#options.nameOf(session);
    const known = this.#sandboxes.get(name);
    if (known) {
      if (listener) known.listener = listener;
      return known;
    }
    const { idleMs, backgroundMs } = this.#options;
    const sandbox = new PooledSandbox<T>(
      {
        name,
        idleMs,
        backgroundMs,
        open: (told, signal) => this.#openOne(name, session, told, signal),
        rested: () => this.#makeRoom(),
        closed: () => {
          this.#places.get(name)?.giveBack();
          this.#places.delete(name);
        },
        left: (error) => this.#keep(name, error),
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
      if (this.#kept.has(name) || this.#sandboxes.get(name)?.isOpen) continue;
      const idleSince = lastUsedAt.getTime();
      const isOverdue = (): boolean => backgroundMs > 0 && Date.now() - idleSince >= backgroundMs;
      this.#kept.set(
        name,
        this.#keptAs(name, idleSince, this.#slots.occupy(), () => stop(isOverdue())),
      );
    }
    while (this.#slots.free < 0 && (await this.#endIdlest()));
  }

  #keptAs(name: string, idleSince: number, giveBack: () => void, stop: () => Promise<boolean>): Kept {
    const kept: Kept = {
      idleSince,
      giveBack,
      reclaim: async () => {
        const isEnded = await stop().catch(() => false);
        // Its session may have come for it meanwhile, and has its place then.
        if (!isEnded || this.#kept.get(name) !== kept) return false;
        this.#kept.delete(name);
        giveBack();
        return true;
      },
    };
    return kept;
  }

  /** One that could not be ended may run on: until it is known that it does not, it keeps its place. */
  #keep(name: string, error: Error): void {
    const place = this.#places.get(name);
    if (!place) return;
    this.#places.delete(name);
    const kept = this.#keptAs(name, Date.now(), place.giveBack, place.stopAgain);
    this.#kept.set(name, kept);
    const say = `The sandbox could not be ended: ${error.message} It counts as running until it is known not to, and is tried again.`;
    this.#sandboxes.get(name)?.listener.notice(say);
    const again = setInterval(() => {
      if (this.#kept.get(name) !== kept || this.#stopping.signal.aborted) clearInterval(again);
      else void kept.reclaim();
    }, this.#options.stopAgainEveryMs ?? stopAgainEveryMs).unref();
  }

  async #openOne(name: string, session: Session, listener: PoolListener, signal: AbortSignal | undefined): Promise<T> {
    const kept = this.#kept.get(name);
    const giveBack = await this.#takePlace(name, listener, signal);
    try {
      this.#stopping.signal.throwIfAborted();
      const opened = await this.#openWithRoom(session, listener, signal);
      this.#places.set(name, { giveBack, stopAgain: opened.stopAgain });
      return opened;
    } catch (error) {
      // The sandbox of before may still run.
      if (kept) this.#kept.set(name, kept);
      else giveBack();
      throw error;
    }
  }

  /** A backend may have a maximum of its own, which other programs fill too: then the session waits as for a place of ours. */
  async #openWithRoom(session: Session, listener: PoolListener, signal: AbortSignal | undefined): Promise<T> {
    const over = AbortSignal.any([this.#stopping.signal, ...(signal ? [signal] : [])]);
    for (let isTold = false; ; isTold = true) {
      const made = await this.#making.take(() => undefined, signal);
      const opening = this.#options.open(session, listener, signal).finally(made);
      const opened = await opening.catch((error: unknown) => {
        if (!(error instanceof HermeticError) || error.code !== 'sandbox/no-room') throw error;
        return error;
      });
      if (!(opened instanceof HermeticError)) return opened;
      if (!isTold) listener.notice(`${opened.message} This session waits.`, 'All sandboxes are in use. This session waits for one.');
      listener.queued({ place: undefined });
      if (!(await this.#endIdlest())) await pause(opened.retryAfterMs ?? betweenLooksMs, over);
      over.throwIfAborted();
    }
  }

  async #takePlace(name: string, listener: PoolListener, signal: AbortSignal | undefined): Promise<() => void> {
    const kept = this.#kept.get(name);
    if (kept) {
      this.#kept.delete(name);
      return kept.giveBack;
    }
    this.#stopping.signal.throwIfAborted();
    const say = (text: string): void => listener.notice(text, text);
    const places = new PlaceNotices(
      (place) => say(`All sandboxes are in use. This session is ${ordinal(place)} in the queue.`),
      this.#options.tellEveryMs ?? tellEveryMs,
    );
    if (this.#slots.free <= 0) await this.#endIdlest();
    // A process that keeps an idle sandbox may end meanwhile, or have kept it for too long, which no event tells.
    const lookAgain = setInterval(() => this.#makeRoom(), betweenLooksMs).unref();
    try {
      // The commands of the others may outlive this program, so stopping must not wait for them.
      const over = AbortSignal.any([this.#stopping.signal, ...(signal ? [signal] : [])]);
      const queued = (place: number): void => {
        listener.queued({ place });
        places.changed(place);
      };
      const giveBack = await this.#slots.take(queued, over);
      listener.queued(undefined);
      if (places.isWaiting) say('It is the turn of this session: its sandbox is being opened.');
      return giveBack;
    } finally {
      clearInterval(lookAgain);
      places.stop();
    }
  }

  /** A session in the queue need not wait until an idle sandbox has been idle for long. */
  #makeRoom(): void {
    if (this.#slots.waiting > 0) void this.#endIdlest().catch(() => undefined);
  }

  /** Its state and files return with the session. One in which something still runs is passed over. Resolves with whether there was one. */
  async #endIdlest(): Promise<boolean> {
    const holders: Holder[] = [...this.#sandboxes.values(), ...this.#kept.values()];
    const idle = holders.filter(({ idleSince }) => idleSince !== undefined);
    idle.sort((a, b) => (a.idleSince ?? 0) - (b.idleSince ?? 0));
    for (const holder of idle) if (await holder.reclaim()) return true;
    return false;
  }

  /** How many more may run beside those of sessions. */
  get room(): number {
    return Math.max(this.#slots.free, 0);
  }

  get open(): readonly PooledSandbox<T>[] {
    return this.#sandboxes.values().filter((sandbox) => sandbox.isOpen);
  }

  /** Closes everything, for good. Durable sandboxes go on until they have been idle for too long. */
  async stop(): Promise<void> {
    this.#stopping.abort(new HermeticError('sandbox/lost', 'The command did not start: all sandboxes were closed.'));
    await Promise.all(this.open.map((sandbox) => sandbox.end()));
  }
}
