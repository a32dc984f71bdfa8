import type { ExecHandle, ExecRequest, OpenListener, OpenSandbox, Sandbox, TerminalSize } from '../../core/sandbox.ts';
import { tracer } from '../../core/trace.ts';
import { within } from '../../lib/deadline.ts';
import type { Comparison } from '../comparison.ts';

export interface Opened {
  sandbox: OpenSandbox;
  compare(): Promise<Comparison>;
}

/** In the queue for a place. `place` is undefined where others are waited for whose number is not known. */
export interface Queued {
  place: number | undefined;
}

export interface PoolListener extends OpenListener {
  /** Told when the sandbox waits for a place, whenever that changes, and with undefined when it waits no more. */
  queued(queued: Queued | undefined): void;
}

export interface PooledOptions<T extends Opened> {
  /** Until it is open and has one. */
  name: string;
  /** Opens or finds the sandbox, when there is room for it. */
  open(listener: PoolListener, signal?: AbortSignal): Promise<T>;
  idleMs: number;
  /** How long after the last command a process that was left running keeps it open; 0: for as long as it runs. */
  backgroundMs: number;
  /** Nothing runs in it any more. */
  rested(): void;
  /** It has been closed. */
  closed(): void;
  /** It could not be ended and may run on. */
  left(error: Error): void;
}

interface Opening<T> {
  work: Promise<T>;
  /** Of who asked first. */
  signal: AbortSignal | undefined;
}

const trace = tracer('pool');

const examinationMs = 5_000;
/** How soon it is noticed that the last process has gone which kept a sandbox open. */
const longestBetweenLooksMs = 60_000;
const replaced = 'The settings of this sandbox have changed. It is replaced; its files stay.';
const madeAgain = 'It has been made again; what was running is not repeated.';

/**
 * The sandbox of a session, whether or not there is one at the moment, and the first wrapper on the way of a command: it is opened by the first command, closed after a time without any,
 * made again when it was lost, and replaced between two commands when its settings have changed.
 */
export class PooledSandbox<T extends Opened = Opened> implements Sandbox {
  /** Told what happens to it. */
  listener: OpenListener;
  /** Whether it has ever been open, also when it is not now. */
  wasOpened = false;
  readonly #options: PooledOptions<T>;
  #open: T | undefined;
  #opening: Opening<T> | undefined;
  #closing: Promise<void> | undefined;
  #lost: string | undefined;
  /** Why the last command was lost; then the sandbox may be too. */
  #doubt: string | undefined;
  /** Commands, shells and background processes that run now or are about to start. */
  #live = 0;
  /** Listeners to processes that may keep the sandbox for a time only. */
  #listening = 0;
  #idleSince = Date.now();
  #timer: NodeJS.Timeout | undefined;
  #queued: Queued | undefined;
  #name: string;
  #directory = '/';
  #definitions: Readonly<Record<string, string>> = {};
  /** Variables that the settings have changed since it was opened. */
  #env: Comparison['env'] = {};

  constructor(options: PooledOptions<T>, listener: OpenListener) {
    this.#name = options.name;
    this.listener = listener;
    this.#options = options;
  }

  get name(): string {
    return this.#name;
  }

  get cwd(): string {
    return this.#open?.sandbox.cwd ?? this.#directory;
  }

  get definitions(): Readonly<Record<string, string>> {
    return this.#open?.sandbox.definitions ?? this.#definitions;
  }

  get isOpen(): boolean {
    return this.#open !== undefined || this.#opening !== undefined;
  }

  /** Since when it could be given up; undefined while something runs in it or it is not open. */
  get idleSince(): number | undefined {
    return this.#open && this.#live === 0 ? this.#idleSince : undefined;
  }

  /** How long until it is closed unless it is used; undefined while something runs in it or it is not open. */
  get closesInMs(): number | undefined {
    const since = this.idleSince;
    return since === undefined ? undefined : since + this.#options.idleMs - Date.now();
  }

  /** undefined while it is not open. */
  get opened(): T | undefined {
    return this.#open;
  }

  /** undefined unless it is being opened. */
  get opening(): { queued: Queued | undefined } | undefined {
    return this.#opening && { queued: this.#queued };
  }

  /**
   * Makes sure that it is open. When several do at once, the first one's signal counts; when that aborts, it is opened
   * for the next one.
   */
  async open(signal?: AbortSignal): Promise<T> {
    return await this.#during(async (opened) => opened, signal);
  }

  exec(request: ExecRequest): Promise<ExecHandle> {
    const isChanged = (): boolean => Object.keys(this.#env).length > 0;
    const begin = ({ sandbox }: T): Promise<ExecHandle> =>
      sandbox.exec(isChanged() ? { ...request, env: { ...this.#env, ...request.env } } : request);
    return request.listensOnly && this.#options.backgroundMs > 0 ? this.#listen(begin) : this.#start(begin);
  }

  shell(terminal?: TerminalSize): Promise<ExecHandle> {
    return this.#start(({ sandbox }) => sandbox.shell(terminal));
  }

  readFile(path: string): Promise<Buffer> {
    return this.#during(({ sandbox }) => sandbox.readFile(path));
  }

  writeFile(path: string, data: Uint8Array | string): Promise<void> {
    return this.#during(({ sandbox }) => sandbox.writeFile(path, data));
  }

  /** Ends it unless something runs in it. Its files and the session's state stay. */
  async close(): Promise<void> {
    await this.#endIdle();
  }

  /**
   * Ends it when nothing runs in it: no command, and no process that a command left behind and that may still keep it. A sandbox that
   * does not answer is left alone. Resolves with whether it was ended. Never rejects: the session that needs its place is not concerned.
   */
  async reclaim(): Promise<boolean> {
    return await this.#endIdle().catch(() => false);
  }

  async #endIdle(): Promise<boolean> {
    const [opened, since] = [this.#open, this.idleSince];
    if (!opened || since === undefined) return false;
    const { backgroundMs } = this.#options;
    const isOverdue = backgroundMs > 0 && Date.now() - since >= backgroundMs;
    if (!isOverdue && (await opened.sandbox.hasLiveProcesses().catch(() => true))) return false;
    if (this.#open !== opened || this.idleSince !== since) return false;
    await this.#detach(opened, 'stop');
    return true;
  }

  /** Closes it, also when something runs in it. */
  async end(): Promise<void> {
    await this.#opening?.work.catch(() => undefined);
    if (this.#open) await this.#detach(this.#open, 'close');
  }

  /** Ends it and removes its files. */
  async destroy(): Promise<void> {
    await this.open();
    if (this.#open) await this.#detach(this.#open, 'destroy');
  }

  #enter(): void {
    this.#live += 1;
    clearTimeout(this.#timer);
  }

  /** The idle clock counts from the end of the last command. */
  #leave(): void {
    this.#live -= 1;
    if (this.#live > 0) return;
    this.#idleSince = Date.now();
    if (!this.#open) return;
    this.#reclaimAfter(this.#options.idleMs);
    this.#options.rested();
  }

  #reclaimAfter(waitMs: number): void {
    const look = async (): Promise<void> => {
      const isGone = await this.reclaim();
      const since = this.idleSince;
      if (isGone || since === undefined) return;
      const { idleMs, backgroundMs } = this.#options;
      const leftMs = backgroundMs > 0 ? Math.max(since + backgroundMs - Date.now(), 0) : Number.POSITIVE_INFINITY;
      this.#reclaimAfter(Math.min(idleMs, longestBetweenLooksMs, leftMs));
    };
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void look(), waitMs).unref();
  }

  async #start(begin: (opened: T) => Promise<ExecHandle>): Promise<ExecHandle> {
    this.#enter();
    try {
      const handle = await begin(await this.#current());
      void handle.exit.then((exit) => {
        if (exit.kind === 'lost') this.#doubt = exit.reason;
        this.#leave();
      });
      return handle;
    } catch (error) {
      this.#leave();
      throw error;
    }
  }

  /** Counts as a command until it has begun. */
  async #listen(begin: (opened: T) => Promise<ExecHandle>): Promise<ExecHandle> {
    const handle = await this.#during(begin);
    this.#listening += 1;
    void handle.exit.then(() => {
      this.#listening -= 1;
    });
    return handle;
  }

  async #during<Result>(action: (opened: T) => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    this.#enter();
    try {
      return await action(await this.#current(signal));
    } finally {
      this.#leave();
    }
  }

  async #current(signal?: AbortSignal): Promise<T> {
    if (this.#doubt !== undefined && this.#open) await this.#examine(this.#open, this.#doubt);
    const opened = this.#open;
    if (opened && (await this.#isOutdated(opened)) && this.#open === opened) {
      this.listener.notice(replaced, replaced);
      await this.#detach(opened, 'stop');
    }
    for (;;) {
      while (this.#closing !== undefined) await this.#closing.catch(() => undefined);
      if (this.#open) return this.#open;
      const first = this.#opening ?? this.#begin(signal);
      try {
        return await first.work;
      } catch (error) {
        // Who asked first has stopped, and who joined has not.
        if (!first.signal?.aborted || first.signal === signal || signal?.aborted) throw error;
      }
    }
  }

  #begin(signal: AbortSignal | undefined): Opening<T> {
    const work = this.#make(signal).finally(() => {
      this.#opening = undefined;
    });
    this.#opening = { work, signal };
    return this.#opening;
  }

  /** Whether it is to be replaced now. Not while a command runs, and not for variables while anything does: commands are given those. */
  async #isOutdated(opened: T): Promise<boolean> {
    // The caller counts as live: when it is the only one, replacing the sandbox disturbs nothing.
    const isAlone = (): boolean => this.#live === 1 && this.#listening === 0;
    const { differs, env } = await opened.compare();
    if (this.#open === opened) this.#env = env;
    if (differs === 'not' || !isAlone()) return false;
    const isKept = differs === 'in variables' && (await opened.sandbox.hasLiveProcesses().catch(() => true));
    return !isKept && isAlone();
  }

  /** A sandbox in which `true` does not run is given up. */
  async #examine(opened: T, doubt: string): Promise<void> {
    this.#doubt = undefined;
    trace(this.#name, () => `is looked at: ${doubt}`);
    const answer = async () => (await opened.sandbox.exec({ command: 'true', stateless: true })).exit;
    const nothing = () => undefined;
    const exit = await within({ ms: examinationMs, ref: false }, answer().catch(nothing), nothing);
    if (exit?.kind === 'exited' || this.#open !== opened) return;
    trace(this.#name, () => 'does not answer');
    this.#lost = doubt;
    await this.#detach(opened, 'stop');
  }

  async #make(signal: AbortSignal | undefined): Promise<T> {
    // Not the listener of this moment: the sandbox may have a notice later, when there is another one.
    const notice = (text: string, inChat?: string): void => this.listener.notice(text, inChat);
    const progress = (text: string): void => this.listener.progress(text);
    const queued = (now: Queued | undefined): void => {
      if (now) trace(this.#name, () => `waits for a place, ${now.place ?? 'behind others'}`);
      this.#queued = now;
    };
    trace(this.#name, () => 'is opened');
    const opened = await this.#options.open({ notice, progress, queued }, signal).finally(() => queued(undefined));
    this.#name = opened.sandbox.name;
    trace(this.#name, () => 'is open');
    if (this.#lost !== undefined) {
      this.listener.notice(`The sandbox was lost: ${this.#lost}. ${madeAgain}`, `The sandbox was lost. ${madeAgain}`);
      this.#lost = undefined;
    }
    this.#open = opened;
    this.wasOpened = true;
    this.#env = {};
    void opened.sandbox.ended.then((reason) => {
      if (this.#open !== opened) return;
      this.#lost = reason;
      void this.#detach(opened, 'close').catch(() => undefined);
    });
    return opened;
  }

  async #detach({ sandbox }: Opened, how: 'close' | 'stop' | 'destroy'): Promise<void> {
    trace(this.#name, () => `${how}${this.#lost === undefined ? '' : ` (lost: ${this.#lost})`}`);
    this.#directory = sandbox.cwd;
    this.#definitions = sandbox.definitions;
    this.#open = undefined;
    clearTimeout(this.#timer);
    const { closed, left } = this.#options;
    const isClosed = (): void => {
      trace(this.#name, () => 'is closed');
      closed();
    };
    this.#closing = sandbox[how]().then(isClosed, (error: Error) => {
      trace(this.#name, () => `could not be closed: ${error.message}`);
      // A durable sandbox that is closed may run on.
      if (how === 'close') closed();
      else left(error);
      throw error;
    });
    try {
      await this.#closing;
    } finally {
      this.#closing = undefined;
    }
  }
}
