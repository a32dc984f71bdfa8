import type { Brought } from '../core/approval.ts';
import type { Door } from '../core/egress.ts';
import { HermeticError } from '../core/errors.ts';
import type { ExecHandle, ExecRequest, TerminalSize } from '../core/sandbox.ts';
import { settlesWithin } from '../lib/deadline.ts';
import { errorText } from '../lib/error-text.ts';
import { askSandbox } from './ask-sandbox.ts';
import { bringTo, broughtIn, broughtKey } from './brought-paths.ts';
import type { EndRecord } from './end-channel.ts';
import { Execution, type ExecutionOwner } from './execution.ts';
import { readFileIn, writeFileIn } from './files.ts';
import { LimitWatch, type LimitWishes } from './limit-watch.ts';
import { type Order, orderOf } from './order.ts';
import type { Call, Shell, ShellMode, Spawner } from './spawner.ts';
import {
  type Changes,
  changesBetween,
  definitionsIn,
  directoryKey,
  dumpParser,
  parseDump,
  restoreScript,
  type State,
  withChanges,
} from './state.ts';
import type { StateStore } from './state-store.ts';

export interface ShellSessionOptions {
  spawner: Spawner;
  store: StateStore;
  /** Where a session starts that has been nowhere yet. */
  workdir: string;
  /** The last resort when a command cannot be killed. */
  endSandbox(reason: string): Promise<void>;
  limits?: LimitWishes | undefined;
  /** undefined where the network is not restricted. */
  network?: Pick<Door, 'watch'> | undefined;
}

/** A shell that waits with the session's state restored, and what that state was. */
interface Waiting {
  shell: Shell;
  restored: State;
  /** Where its records go, once it has a command. */
  execution: Execution | undefined;
  dead: boolean;
}

const refillDelayMs = 10;
/** A command that begins this soon after another is one of a row. */
const rowMs = 50;
const resizeDeadlineMs = 5_000;
const endDeadlineMs = 5_000;
/** So many commands in a row may find the pipes full before the sandbox is given up. One may have come at a busy moment. */
const maxRefusals = 2;

/** Commands of one session: each in a fresh bash that was waiting for it, with what the commands before it left. */
export class ShellSession {
  readonly #spawner: Spawner;
  readonly #store: StateStore;
  readonly #workdir: string;
  readonly #endSandbox: (reason: string) => Promise<void>;
  readonly #limits: LimitWatch;
  readonly #network: Pick<Door, 'watch'> | undefined;
  #base: State = new Map();
  #warm: Waiting | undefined;
  /** Why no more commands can be run. */
  #over: string | undefined;
  /** The state that belongs to what is kept now; most commands change nothing. */
  #known: { kept: Changes; base: State; state: State; definitions: Readonly<Record<string, string>> } | undefined;

  readonly #parse = dumpParser();
  #lastBegun = Number.NEGATIVE_INFINITY;
  #killing: Promise<void> | undefined;
  /** Commands in a row that could not be handed over. */
  #refusals = 0;

  /** Resolves when the first shell waits. */
  static async open(options: ShellSessionOptions): Promise<ShellSession> {
    const session = new ShellSession(options);
    try {
      await session.#start();
    } catch (error) {
      // Its first shell has pipes.
      session.close();
      throw error;
    }
    return session;
  }

  private constructor({ spawner, store, workdir, endSandbox, limits, network }: ShellSessionOptions) {
    this.#spawner = spawner;
    this.#store = store;
    this.#workdir = workdir;
    this.#endSandbox = endSandbox;
    this.#limits = new LimitWatch(limits, this);
    this.#network = network;
    void spawner.ended.then((reason) => {
      this.#over ??= `the sandbox has ended: ${reason}`;
    });
  }

  get cwd(): string {
    return Buffer.from(this.#directory(), 'latin1').toString();
  }

  get definitions(): Readonly<Record<string, string>> {
    this.#state();
    return this.#known?.definitions ?? {};
  }

  get brought(): readonly Brought[] {
    return broughtIn(this.#store.read());
  }

  bring(paths: readonly Brought[]): void {
    bringTo(this.#store, paths);
  }

  #directory(): string {
    return this.#store.read().get(directoryKey) ?? Buffer.from(this.#workdir).toString('latin1');
  }

  /** The first shell tells what the sandbox itself puts into a shell; what sessions change is relative to that. */
  async #start(): Promise<void> {
    await this.#spawner.prepare();
    const started = Promise.withResolvers<State>();
    let base: State = new Map();
    // This shell goes on to run a command, whose state is not the sandbox's: settling twice changes nothing.
    const listen = (record: EndRecord): void => {
      if (record.kind === 'dump') base = withoutDirectory(parseDump(record.dump) ?? base);
      if (record.kind === 'ready') started.resolve(base);
      if (record.kind === 'status') started.reject(new Error(`the first shell ended with code ${record.code}`));
      if (record.kind === 'no-room') started.reject(new Error('its process limit leaves no room for a shell'));
    };
    this.#warm = this.#spawn('base', this.#base, listen, (reason) => started.reject(new Error(reason)));
    void this.#spawner.ended.then((reason) => started.reject(new Error(reason)));
    this.#base = await started.promise;
    this.#warm.restored = this.#base;
  }

  #state(): State {
    const kept = this.#store.read();
    if (this.#known?.kept !== kept || this.#known.base !== this.#base) {
      const state = new Map(withChanges(this.#base, kept)).set(directoryKey, this.#directory());
      state.delete(broughtKey);
      this.#known = { kept, base: this.#base, state, definitions: definitionsIn(state, this.#base) };
    }
    return this.#known.state;
  }

  #spawn(mode: 'warm' | 'base', restored: State, listen?: (record: EndRecord) => void, failed?: (reason: string) => void): Waiting {
    const restore = restoreScript(changesBetween(this.#base, restored), restored);
    const waiting: Partial<Waiting> = { restored, execution: undefined, dead: false };
    waiting.shell = this.#spawner.spawn(
      { mode, restore },
      (record) => {
        listen?.(record);
        if (waiting.execution) waiting.execution.receive(record);
        else if (record.kind === 'status' || record.kind === 'no-room') waiting.dead = true;
      },
      (reason) => {
        waiting.dead = true;
        failed?.(reason);
        waiting.execution?.lost(reason);
      },
    );
    return waiting as Waiting;
  }

  async #prepare(): Promise<void> {
    await this.#killing;
    if (this.#over === undefined) await this.#spawner.prepare();
    if (this.#over !== undefined) throw new HermeticError('sandbox/lost', `The command did not start: ${this.#over}.`);
  }

  async #take(): Promise<Waiting> {
    const warm = this.#warm;
    this.#warm = undefined;
    // One that is being ended may have a shell that does not know it yet.
    if (warm && !warm.dead && this.#over === undefined) return warm;
    warm?.shell.release();
    await this.#prepare();
    return this.#spawn('warm', this.#state());
  }

  async #refill(): Promise<void> {
    await this.#killing;
    await this.#spawner.prepare();
    if (this.#over === undefined && this.#warm === undefined) this.#warm = this.#spawn('warm', this.#state());
  }

  exec(request: ExecRequest): Promise<ExecHandle> {
    return this.#unlessRefused(() => (request.plain ? this.#execPlain(request) : this.#exec(request)));
  }

  /** Security: a sandbox can fill the pipes through which it is told anything, and would refuse every command from then on. */
  async #unlessRefused(start: () => Promise<ExecHandle>): Promise<ExecHandle> {
    try {
      const handle = await start();
      this.#refusals = 0;
      return handle;
    } catch (error) {
      if (((error as Error).cause as NodeJS.ErrnoException | undefined)?.code !== 'EAGAIN') throw error;
      this.#refusals += 1;
      if (this.#refusals < maxRefusals || this.#over !== undefined) throw error;
      await this.endSandbox('its pipes were full');
      throw new HermeticError('sandbox/lost', 'The command did not start: the sandbox took no requests any more, so it was ended.', {
        hint: 'The next command gets a new one with the same files.',
        cause: error,
      });
    }
  }

  async #exec(request: ExecRequest): Promise<ExecHandle> {
    const call = orderOf(request);
    if (request.terminal) return await this.#runNow('terminal', call, request, request.terminal);
    const waiting = await this.#take();
    this.#requireMeant(request, waiting);
    const execution = this.#begin(waiting, call, request, this.#state());
    this.#refillAfter(execution);
    return execution;
  }

  async #execPlain(plain: ExecRequest): Promise<ExecHandle> {
    const request = { ...plain, stateless: true };
    const call = orderOf(request);
    const warm = this.#warm && this.#isPlain(this.#warm.restored) ? await this.#take() : undefined;
    if (!warm) await this.#prepare();
    this.#requireMeant(request, warm);
    const waiting = warm ?? this.#spawn('warm', this.#base);
    const execution = this.#begin(waiting, call, request, waiting.restored);
    if (warm) this.#refillAfter(execution);
    return execution;
  }

  /** A shell that waits goes on waiting. */
  #requireMeant({ onlyIf }: ExecRequest, waiting?: Waiting): void {
    if (!onlyIf || onlyIf(this)) return;
    if (this.#warm) waiting?.shell.release();
    else this.#warm = waiting;
    throw new HermeticError('sandbox/changed', 'The session was changed before the command could begin. Nothing was run.');
  }

  #isPlain(state: State): boolean {
    return [...changesBetween(this.#base, state).keys()].every((key) => key === directoryKey || key === 'variable OLDPWD');
  }

  #begin(waiting: Waiting, call: Order, request: ExecRequest, state: State): Execution {
    const execution = new Execution(waiting.shell, this.#owner(request, waiting.shell.mark, state), false);
    waiting.execution = execution;
    try {
      waiting.shell.begin(this.#placed(call), restoreScript(changesBetween(waiting.restored, state), state));
    } catch (cause) {
      // A sandbox can fill its shell's pipe, and the disk.
      waiting.shell.release();
      throw new HermeticError('sandbox/lost', `The command did not start: ${errorText(cause)}.`, { cause });
    }
    if (request.stdin !== 'open') waiting.shell.closeStdin();
    if (waiting.dead) execution.lost('the shell had ended');
    return execution;
  }

  /**
   * A long command leaves time to start the next shell beside it; a short one must not share the processor with that, unless the next
   * one would have to wait for its shell.
   */
  #refillAfter(execution: Execution): void {
    const refill = (): void => void this.#refill().catch(() => undefined);
    const now = performance.now();
    const isInRow = now - this.#lastBegun < rowMs;
    this.#lastBegun = now;
    if (isInRow) {
      setImmediate(refill);
      return;
    }
    const beside = setTimeout(refill, refillDelayMs).unref();
    void execution.exit.then(() => {
      clearTimeout(beside);
      setImmediate(refill);
    });
  }

  async shell(terminal?: TerminalSize): Promise<ExecHandle> {
    const request: ExecRequest = { command: '', stdin: 'open' };
    return await this.#unlessRefused(() => this.#runNow(terminal ? 'interactive' : 'lines', orderOf(request), request, terminal));
  }

  async #runNow(mode: ShellMode, call: Order, request: ExecRequest, terminal: TerminalSize | undefined): Promise<ExecHandle> {
    await this.#prepare();
    this.#requireMeant(request);
    const state = this.#state();
    const restore = restoreScript(changesBetween(this.#base, state), state);
    const early: EndRecord[] = [];
    let execution: Execution | undefined;
    const shell = this.#spawner.spawn(
      { mode, restore, call: this.#placed(call), ...(terminal && { terminal }) },
      (record) => (execution ? execution.receive(record) : early.push(record)),
      (reason) => execution?.lost(reason),
    );
    execution = new Execution(shell, this.#owner(request, shell.mark, undefined), true);
    for (const record of early) execution.receive(record);
    if (request.stdin !== 'open') shell.closeStdin();
    return execution;
  }

  #placed(order: Order): Call {
    return { ...order, sessionDirectory: this.#directory() };
  }

  #owner(request: ExecRequest, mark: string, before: State | undefined): ExecutionOwner {
    let isRunning = true;
    const command = { mark, ask: request.askToConnect, isRunning: () => isRunning };
    return {
      changed: (first, last) => {
        if (request.stateless) return;
        const [known, after] = [before ?? (first && this.#parse(first)), this.#parse(last)];
        if (known && after) this.#remember(request, known, after);
      },
      resize: async (terminal, { rows, columns }) => {
        const args = [terminal, String(rows), String(columns)];
        await askSandbox(this, { command: 'stty rows "$2" cols "$3" <"$1"', args }, { timeoutMs: resizeDeadlineMs });
      },
      troubles: this.#limits.begin(),
      connections: this.#network?.watch(command) ?? (async () => ({ blocked: [], allowed: [] })),
      ended: () => {
        isRunning = false;
      },
      endSandbox: (reason) => this.endSandbox(reason),
    };
  }

  /** Only what the command itself changed: others may have changed the session meanwhile, and their changes stay. */
  #remember(request: ExecRequest, before: State, after: State): void {
    const changes = new Map(changesBetween(before, after));
    if (request.cwd !== undefined) for (const key of [directoryKey, 'variable OLDPWD']) changes.delete(key);
    for (const name of Object.keys(request.env ?? {})) changes.delete(`variable ${name}`);
    if (changes.size === 0) return;
    this.#store.update((kept) => {
      const next = new Map(kept);
      for (const [key, text] of changes) {
        if (this.#base.get(key) === text) next.delete(key);
        else next.set(key, text && detached(text));
      }
      return next satisfies Changes;
    });
  }

  readFile(path: string): Promise<Buffer> {
    return readFileIn(this, path);
  }

  writeFile(path: string, data: Uint8Array | string): Promise<void> {
    return writeFileIn(this, path, data, this.#state().get('umask') ?? '');
  }

  async hasLiveProcesses(): Promise<boolean> {
    return this.#over === undefined && (await this.#spawner.hasLiveProcesses(this.#warm?.shell.mark));
  }

  /** Commands that come meanwhile wait. */
  killAll(): Promise<void> {
    if (this.#over !== undefined) return Promise.resolve();
    // It would die with the others, and must not be taken for a living one before that is known.
    this.#warm?.shell.release();
    this.#warm = undefined;
    this.#killing ??= this.#spawner
      .killAll()
      .catch((error: Error) => this.endSandbox(`what runs in it could not be killed: ${error.message}`))
      .finally(() => {
        this.#killing = undefined;
      });
    return this.#killing;
  }

  /** Resolves when it is known to have ended, so that the next command gets a new one. */
  async endSandbox(reason: string): Promise<void> {
    this.#over ??= `the sandbox was ended: ${reason}`;
    await this.#endSandbox(reason);
    await settlesWithin({ ms: endDeadlineMs, ref: false }, this.#spawner.ended);
  }

  close(): void {
    this.#over ??= 'the sandbox was closed';
    this.#warm?.shell.release();
    this.#warm = undefined;
  }
}

/** A shell starts somewhere by chance; a session does not. */
function withoutDirectory(state: State): State {
  const base = new Map(state);
  base.delete(directoryKey);
  return base;
}

/** A copy, because a part of a string keeps the whole of it in memory. */
function detached(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}
