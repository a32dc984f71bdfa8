import { constants } from 'node:os';
import type { Connections } from '../core/egress.ts';
import type { ExecHandle, Exit, KillSignal, LimitHit, OutputChunk, TerminalSize } from '../core/sandbox.ts';
import { settlesWithin } from '../lib/deadline.ts';
import { errorText } from '../lib/error-text.ts';
import type { EndRecord } from './end-channel.ts';
import { Output } from './output.ts';
import type { Shell } from './spawner.ts';
import type { Dump } from './state.ts';
import { traceShell } from './traced-spawner.ts';

export interface ExecutionOwner {
  /** The state before the command, when the shell reported it, and after. */
  changed(before: Dump | undefined, after: Dump): void;
  resize(terminal: string, size: TerminalSize): Promise<void>;
  /** The limits that the sandbox has hit since the command began. */
  troubles(exit: Exit): Promise<readonly LimitHit[]>;
  /** The connections since the command began. */
  connections(): Promise<Connections>;
  /** The command has ended. */
  ended(): void;
  /** The last resort: ends the whole sandbox. */
  endSandbox(reason: string): Promise<void>;
}

/** Of two names of a signal the first is the usual one. */
const signalNames = new Map(
  Object.entries(constants.signals)
    .reverse()
    .map(([name, number]) => [number, name.replace(/^SIG/, '')]),
);
/** How long it may take to be told that a shell is dead after it was killed. One that lives on has found a way not to be found. */
const deathDeadlineMs = 5_000;

const noRoom = 'the sandbox has no room for another process (its pids limit is reached); the command did not start';

/** A command in the shell that runs it. */
export class Execution implements ExecHandle {
  readonly output: AsyncIterable<OutputChunk>;
  readonly exit: Promise<Exit>;
  readonly #shell: Shell;
  readonly #output: Output;
  readonly #owner: ExecutionOwner;
  readonly #dumps: Dump[] = [];
  readonly #reportsStateFirst: boolean;
  #exiting: number | undefined;
  #terminal = Promise.withResolvers<string>();
  #wantedSize: TerminalSize | undefined;
  #resizing: Promise<void> | undefined;
  #settled = false;
  #settle: (exit: Exit) => void;
  #troubles: Promise<readonly LimitHit[]> | undefined;

  constructor(shell: Shell, owner: ExecutionOwner, reportsStateFirst: boolean) {
    traceShell(shell.mark, () => 'a command begins');
    this.#shell = shell;
    this.#owner = owner;
    this.#reportsStateFirst = reportsStateFirst;
    this.#output = new Output(shell.stdout, shell.stderr);
    this.output = this.#output;
    const { promise, resolve } = Promise.withResolvers<Exit>();
    this.exit = promise;
    this.#settle = resolve;
    this.#terminal.promise.catch(() => undefined);
  }

  receive(record: EndRecord): void {
    if (this.#settled) return;
    // Output through a terminal is complete only when its program has ended.
    const endsNow = record.kind === 'completed' && !this.#reportsStateFirst;
    if (endsNow) this.#finish({ kind: 'exited', code: record.code });
    else if (record.kind === 'completed' || record.kind === 'exiting') this.#exiting = record.code;
    else if (record.kind === 'status') this.#finish(this.#judge(record.code, record.killed));
    else if (record.kind === 'dump') this.#dumps.push(record.dump);
    else if (record.kind === 'terminal') this.#terminal.resolve(record.path);
    else if (record.kind === 'no-room') {
      this.#troubles = Promise.resolve(['out-of-processes']);
      this.#finish({ kind: 'lost', reason: noRoom });
    }
  }

  troubles(): Promise<readonly LimitHit[]> {
    this.#troubles ??= this.exit.then((exit) => this.#owner.troubles(exit));
    return this.#troubles;
  }

  async connections(): Promise<Connections> {
    await this.exit;
    return await this.#owner.connections();
  }

  lost(reason: string): void {
    this.#finish({ kind: 'lost', reason });
  }

  /**
   * A shell that announced its code exited with it. One that died of a signal announces none, or another: its parent then sees 128
   * plus the signal. A program that took the shell's place by `exec` is believed to have exited unless bash remarked that it was killed.
   */
  #judge(code: number, killed: boolean): Exit {
    const signal = code > 128 ? signalNames.get(code - 128) : undefined;
    if (signal === undefined || this.#exiting === code) return { kind: 'exited', code };
    const quiet = signal === 'INT' || signal === 'PIPE' || signal === 'TERM';
    return killed || quiet || this.#exiting !== undefined ? { kind: 'signaled', signal } : { kind: 'exited', code };
  }

  #finish(exit: Exit): void {
    if (this.#settled) return;
    this.#settled = true;
    traceShell(this.#shell.mark, () => `its command has ended: ${exit.kind}`);
    this.#owner.ended();
    this.#terminal.reject(new Error('the command has ended'));
    this.#output.finish();
    const after = this.#dumps.at(-1);
    const before = this.#reportsStateFirst ? this.#dumps[0] : undefined;
    if (after && (!this.#reportsStateFirst || this.#dumps.length > 1)) this.#owner.changed(before, after);
    this.#settle(exit);
    // The result goes on its way first.
    setImmediate(() => this.#shell.release());
  }

  async write(data: Uint8Array | string): Promise<void> {
    if (this.#settled) return;
    const stdin = this.#shell.stdin();
    if (stdin.write(data)) return;
    await Promise.race([new Promise<void>((resolve) => stdin.once('drain', resolve)), this.exit]);
  }

  closeStdin(): void {
    if (!this.#settled) this.#shell.closeStdin();
  }

  async kill(signal: KillSignal): Promise<void> {
    traceShell(this.#shell.mark, () => `its command is sent ${signal}`);
    try {
      await this.#shell.kill(signal);
      if (signal === 'KILL') await this.#death();
    } catch (error) {
      await this.#owner
        .endSandbox(`a command could not be killed: ${errorText(error)}`)
        .finally(() => this.lost('the command could not be killed, so its sandbox was ended'));
    }
  }

  async #death(): Promise<void> {
    if (!(await settlesWithin({ ms: deathDeadlineMs, ref: false }, this.exit))) throw new Error('its shell did not report');
  }

  async resize(size: TerminalSize): Promise<void> {
    this.#wantedSize = size;
    this.#resizing ??= this.#applySize();
    await this.#resizing;
  }

  /** One after another, and of many sizes that came meanwhile the last: each takes a process of the sandbox. */
  async #applySize(): Promise<void> {
    const terminal = await this.#terminal.promise.catch(() => undefined);
    try {
      while (terminal !== undefined && this.#wantedSize && !this.#settled) {
        const size = this.#wantedSize;
        this.#wantedSize = undefined;
        // A terminal that keeps its size is nothing to fail for.
        await this.#owner.resize(terminal, size).catch(() => undefined);
      }
    } finally {
      this.#resizing = undefined;
    }
  }
}
