import { randomBytes } from 'node:crypto';
import type { Action } from '../../core/approval.ts';
import { HermeticError } from '../../core/errors.ts';
import type { Sandbox, TerminalSize } from '../../core/sandbox.ts';
import type { CallSandbox } from '../../core/tool.ts';
import { guestBash } from '../../lib/guest-files.ts';
import { nearest } from '../../lib/nearest.ts';
import { printable } from '../../lib/printable.ts';
import { type AskOptions, askSandbox, askToSucceed, collect } from '../../shell/ask-sandbox.ts';
import { BackgroundProcess, type ProcessBeginning, type ProcessEvent, type ProcessFacts, stateOf } from './background-process.ts';

export interface StartRequest {
  command: string;
  cwd: string | undefined;
  terminal: TerminalSize | undefined;
  /** Texts to look for in what it prints. */
  patterns: readonly string[];
}

export interface LogPiece {
  data: Buffer;
  /** Where in the log it begins. */
  offset: number;
  /** Of the whole log. */
  size: number;
}

/** Awaited when a process starts. Must not throw. */
export type ProcessListener = (process: BackgroundProcess, event: ProcessEvent) => void | Promise<void>;

/** Each may print a lot before anybody looks. */
const maxRunning = 32;
const maxKept = 50;
/** Of what a process was given, to judge what it is given next. */
const maxGiven = 16 * 1024;
const writeDeadlineMs = 10_000;
const launchDeadlineMs = 30_000;

/** The background processes of one session. What they print and how they ended is kept inside the sandbox, and found again there. */
export class ProcessTable {
  readonly #sandbox: Sandbox;
  readonly #listeners = new Set<ProcessListener>();
  /** Texts to look for in what processes print that an earlier program started, by their ids. */
  readonly #patterns = new Map<string, readonly string[]>();
  readonly #processes = new Map<string, BackgroundProcess>();
  #found: Promise<void> | undefined;
  #starting = 0;

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
  }

  /** Hears when a process starts, before it can end; when it ends; and of texts that were looked for. Returns what ends that. */
  listen(listener: ProcessListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** `sandbox`: that of the call. */
  async start(sandbox: CallSandbox, request: StartRequest): Promise<BackgroundProcess> {
    await this.#find();
    if (this.running.length + this.#starting >= maxRunning) {
      throw new HermeticError('tool/failed', `${maxRunning} processes run in the background already.`, { hint: 'Kill one first.' });
    }
    this.#starting += 1;
    return await this.#launch(sandbox, request).finally(() => {
      this.#starting -= 1;
    });
  }

  async #launch(sandbox: CallSandbox, { command, cwd, terminal, patterns }: StartRequest): Promise<BackgroundProcess> {
    const place = cwd ?? sandbox.cwd;
    const id = randomBytes(4).toString('hex');
    const directory = (await this.#ask('make', [this.#sandbox.name, id, command, String(maxKept)])).toString();
    const size = terminal ? `${terminal.rows} ${terminal.columns}` : '';
    const launch = { command: await guestBash('background'), args: [directory, command, size], stateless: true };
    const handle = await sandbox.exec({ ...launch, ...(cwd !== undefined && { cwd }) });
    const { end, stdout, stderr } = await collect(handle, { timeoutMs: launchDeadlineMs });
    if (end.kind !== 'exited' || end.code !== 0) {
      throw new HermeticError(
        'tool/failed',
        `It could not be started: ${stderr.trim() || printable(stdout.toString()).trim() || end.kind}`,
      );
    }
    handle.keep();
    const process = this.#adopt({ id, command, startedAt: new Date(), directory }, patterns, handle);
    process.cwd = place;
    await this.#tell(process, { kind: 'started', patterns });
    await process.follow();
    return process;
  }

  #adopt(facts: ProcessFacts, patterns: readonly string[], beginning?: ProcessBeginning): BackgroundProcess {
    const tell = (event: ProcessEvent): void => void this.#tell(process, event);
    const process = new BackgroundProcess({ sandbox: this.#sandbox, facts, beginning, patterns, tell });
    this.#processes.set(facts.id, process);
    return process;
  }

  async #tell(process: BackgroundProcess, event: ProcessEvent): Promise<void> {
    for (const listener of this.#listeners) await listener(process, event);
  }

  /** Listens again to those that an earlier program started. What has ended meanwhile, or is not there, has ended now. */
  async resume(processes: readonly { process: string; command: string; patterns: readonly string[] }[]): Promise<void> {
    for (const { process, patterns } of processes) this.#patterns.set(process, patterns);
    await this.#find();
    for (const { process: id, command } of processes) {
      const known = this.#processes.get(id);
      const process = known ?? this.#adopt({ id, command, startedAt: new Date(), directory: '' }, []);
      if (!known) process.state = { kind: 'lost', reason: 'its sandbox is gone' };
      if (process.state.kind !== 'running') await this.#tell(process, { kind: 'ended', state: process.state });
    }
  }

  /** Those that an earlier program started in this sandbox. */
  #find(): Promise<void> {
    this.#found ??= this.#look().catch((error: unknown) => {
      this.#found = undefined;
      throw error;
    });
    return this.#found;
  }

  async #look(): Promise<void> {
    // A sandbox has its final name when it is open.
    const beginning = await this.#sandbox.exec({ command: 'true', plain: true });
    await collect(beginning, {});
    const printed = await this.#ask('list', [this.#sandbox.name], { maxBytes: 8 * 1024 * 1024 });
    const [directory = '', ...lines] = printed.toString().split('\n');
    // Security: all of this was written inside the sandbox, and may be anything.
    for (const line of lines) {
      const [, id, started, how = '', size, closed, command = ''] =
        /^([0-9a-f]{8}) (\d{1,12}) (\S{1,20}) (\d{1,15}) (\S+) ([A-Za-z0-9+/=]*)$/.exec(line) ?? [];
      if (id === undefined || this.#processes.has(id)) continue;
      // Each is listened to by a process of its own.
      if (this.#processes.size >= maxRunning + maxKept || (how === '-' && this.running.length >= maxRunning)) continue;
      const text = Buffer.from(command, 'base64').toString();
      const facts = { id, command: text, startedAt: new Date(Number(started) * 1000), directory: `${directory}/${id}` };
      const process = this.#adopt(facts, this.#patterns.get(id) ?? [], beginning);
      process.bytes = Number(size);
      process.stdinClosed = closed === 'closed';
      if (how === '-') await process.follow();
      else process.state = stateOf(how);
    }
  }

  /** See `guest/background-table.bash`. */
  async #ask(verb: string, args: readonly string[], options?: AskOptions): Promise<Buffer> {
    const command = await guestBash('own-directory', 'background-table');
    return await askToSucceed(this.#sandbox, { command, args: [verb, ...args] }, options);
  }

  /** Those that run, as far as is known without asking the sandbox. */
  get running(): readonly BackgroundProcess[] {
    return [...this.#processes.values()].filter(({ state }) => state.kind === 'running');
  }

  /** The oldest first. */
  async list(): Promise<BackgroundProcess[]> {
    await this.#find();
    return [...this.#processes.values()].sort((a, b) => a.facts.startedAt.getTime() - b.facts.startedAt.getTime());
  }

  async get(id: string): Promise<BackgroundProcess> {
    await this.#find();
    const process = this.#processes.get(id);
    if (process) {
      await process.follow();
      return process;
    }
    const meant = nearest(id, this.#processes.keys());
    throw new HermeticError('tool/failed', `There is no process ${JSON.stringify(id)}.`, {
      hint: meant ? `Did you mean ${meant}?` : 'The action list shows those there are.',
    });
  }

  /** `offset` counts from the first byte it printed; a negative one from the end. */
  async read(process: BackgroundProcess, offset: number, maxBytes: number): Promise<LogPiece> {
    const from = offset < 0 ? Math.max(0, process.bytes + offset) : offset;
    const args = [process.facts.directory, String(from), String(maxBytes)];
    const answer = await this.#ask('log', args, { maxBytes: maxBytes + 1024 });
    const end = answer.indexOf('\n');
    return { offset: from, size: Number(answer.subarray(0, end).toString()) || 0, data: answer.subarray(end + 1) };
  }

  /** The action of writing this to it: after its earlier input, which may have begun a line. */
  inputFor(id: string, text: string): Action {
    const { facts, cwd, given } = this.#processes.get(id) ?? { facts: { command: id }, cwd: undefined, given: '' };
    const begun = given.slice(given.lastIndexOf('\n') + 1);
    const before = given.slice(0, given.length - begun.length);
    return { kind: 'input', process: facts.command, text: begun + text, ...(cwd && { cwd }), ...(before && { before }) };
  }

  givenTo(id: string): string {
    return this.#processes.get(id)?.given ?? '';
  }

  /** With `last`, its input ends after that. With `after`, only if it was given that and nothing more: `sandbox/changed` otherwise. */
  async write(process: BackgroundProcess, text: string, last: boolean, after?: string): Promise<void> {
    if (after !== undefined && after !== process.given) {
      throw new HermeticError('sandbox/changed', 'Something else was written to the process meanwhile. Nothing was written.');
    }
    // Before it is written: some of it may have been when that fails.
    process.given = (process.given + text).slice(-maxGiven);
    const options = { stdin: text, timeoutMs: writeDeadlineMs };
    const written = process.writing.then(() => this.#ask('write', [process.facts.directory], options));
    process.writing = written.catch(() => undefined);
    await written;
    if (last) await this.closeStdin(process);
  }

  async closeStdin(process: BackgroundProcess): Promise<void> {
    await this.#ask('close', [process.facts.directory]);
    process.stdinClosed = true;
  }

  async resize(process: BackgroundProcess, { rows, columns }: TerminalSize): Promise<void> {
    await this.#ask('resize', [process.facts.directory, String(rows), String(columns)]);
  }

  /** Resolves when everything the process started is dead. */
  async kill(process: BackgroundProcess, first: 'INT' | 'TERM' | 'KILL', graceMs: number): Promise<void> {
    const command = await guestBash('carrier', 'processes', 'background-end');
    const args = [process.facts.directory, first, String(Math.ceil(graceMs / 100))];
    const { stdout, stderr } = await askSandbox(this.#sandbox, { command, args }, { timeoutMs: graceMs + 20_000 });
    const left = stdout.toString().trim();
    if (left !== '0') throw new HermeticError('tool/failed', `It could not be killed: ${left ? `${left} processes are left` : stderr}.`);
    // Processes that gave up their mark die with any command that is killed.
    await (await this.#sandbox.exec({ command: 'true', plain: true })).kill('KILL');
    await process.dead();
  }

  /** Stops listening to all of them. */
  async close(): Promise<void> {
    await Promise.all([...this.#processes.values()].map((process) => process.detach()));
  }
}
