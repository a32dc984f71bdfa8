import { blockedSentence } from '../../core/blocked-connections.ts';
import type { Connections } from '../../core/egress.ts';
import type { ExecHandle, Sandbox } from '../../core/sandbox.ts';
import type { CallHandle } from '../../core/tool.ts';
import { settlesWithin } from '../../lib/deadline.ts';
import { guestBash } from '../../lib/guest-files.ts';
import { type PatternReport, PatternWatch } from './pattern-watch.ts';

/** The state of a process. `lost`: it is gone, and how it ended is unknown. */
export type ProcessState =
  | { kind: 'running' }
  | { kind: 'exited'; code: number }
  | { kind: 'killed'; signal: string }
  | { kind: 'lost'; reason: string };

export interface ProcessFacts {
  id: string;
  command: string;
  startedAt: Date;
  /** Inside: its log and all that is needed to reach it. */
  directory: string;
}

export type ProcessEvent =
  | { kind: 'started'; patterns: readonly string[] }
  | { kind: 'matched'; report: PatternReport }
  | { kind: 'ended'; state: ProcessState };

/** Notes its connections where it was started by a call of this program. */
export type ProcessBeginning = Pick<ExecHandle, 'connections'> & Partial<Pick<CallHandle, 'note'>>;

export interface BackgroundProcessOptions {
  sandbox: Sandbox;
  facts: ProcessFacts;
  /** The command that started it, or with which this program began to follow it. undefined for one that has ended. */
  beginning: ProcessBeginning | undefined;
  /** Texts to look for in what it prints. */
  patterns: readonly string[];
  tell(event: ProcessEvent): void;
}

/** How long the last output is awaited after the end. */
const lastOutputMs = 2_000;
const maxInterruptions = 5;
/** How much of the end of its output is kept: more than listeners are given, so that no secret is cut in two before it is found. */
const maxTailBytes = 12_000;
/** Longer than the last of its output is awaited. */
const newsMs = 5_000;

/** A process of a session that goes on while the session does other things. Everything it prints is pushed to here once. */
export class BackgroundProcess {
  readonly facts: ProcessFacts;
  state: ProcessState = { kind: 'running' };
  /** How much it has printed. */
  bytes = 0;
  /** Bytes that were read. */
  readBytes = 0;
  stdinClosed = false;
  /** Where it was started, if that was here. */
  cwd: string | undefined;
  /** The last of what it was given to read. */
  given = '';
  /** Calls that wait for its end, and so tell of it themselves. */
  awaitedBy = 0;
  /** The last of what it printed here. */
  tail: Buffer = Buffer.alloc(0);
  /** Which connections failed before its end, in a sentence. */
  network: string | undefined;
  /** Resolves when it has been given that. */
  writing: Promise<unknown> = Promise.resolve();
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
  readonly #sandbox: Sandbox;
  readonly #beginning: ProcessBeginning | undefined;
  readonly #watch: PatternWatch;
  readonly #tell: (event: ProcessEvent) => void;
  readonly #end = Promise.withResolvers<void>();
  /** Since it began, as far as they were looked at. */
  #connections: Connections | undefined;
  #interruptions = 0;
  #isLetGo = false;
  #follower: ExecHandle | undefined;
  #following: Promise<void> | undefined;

  constructor({ sandbox, facts, beginning, patterns, tell }: BackgroundProcessOptions) {
    this.#sandbox = sandbox;
    this.facts = facts;
    this.#beginning = beginning;
    this.ended = this.#end.promise;
    this.#tell = tell;
    this.#watch = new PatternWatch(patterns, (report) => tell({ kind: 'matched', report }));
  }

  /** Listens to it. Does nothing while it is listened to already, or when it has ended. */
  follow(): Promise<void> {
    if (this.state.kind !== 'running' || this.#follower) return Promise.resolve();
    this.#following ??= this.#listen().finally(() => {
      this.#following = undefined;
    });
    return this.#following;
  }

  async #listen(): Promise<void> {
    const command = await guestBash('background-follow');
    const args = [this.facts.directory, String(this.bytes)];
    this.#follower = await this.#sandbox.exec({ command, args, plain: true, listensOnly: true });
    void this.#read(this.#follower);
  }

  async #read(follower: ExecHandle): Promise<void> {
    let said = '';
    let end: { size: number; state: ProcessState } | undefined;
    let last: NodeJS.Timeout | undefined;
    for await (const { stream, data } of follower.output) {
      if (stream === 'stdout') {
        this.bytes += data.length;
        this.tail = Buffer.concat([this.tail, data]).subarray(-maxTailBytes);
        this.#watch.push(data);
      } else if (said.length < 200) {
        said += data.toString();
        end = endOf(said);
        // Its children may have gone on printing, or have shortened the log: then this is all there is.
        if (end) last ??= setTimeout(() => void follower.kill('KILL').catch(() => undefined), lastOutputMs);
      }
      if (end && this.bytes >= end.size) break;
    }
    clearTimeout(last);
    this.#follower = undefined;
    const exit = end ? undefined : await follower.exit;
    await follower.kill('KILL').catch(() => undefined);
    // Before its end is told, so that it is part of that.
    await this.lookAtNetwork();
    if (end) this.#settle(end.state);
    else if (exit?.kind === 'lost') this.#settle({ kind: 'lost', reason: exit.reason });
    else if (++this.#interruptions > maxInterruptions) this.#settle({ kind: 'lost', reason: 'its output cannot be read' });
    // Somebody inside has killed who listened.
    else await this.#listen().catch(() => this.#settle({ kind: 'lost', reason: 'the sandbox is gone' }));
  }

  /** Brings `network` up to date while it runs. */
  async lookAtNetwork(): Promise<void> {
    const connections = await this.#beginning?.connections();
    if (this.state.kind !== 'running' || !connections) return;
    this.#connections = connections;
    this.network = blockedSentence(connections.blocked);
  }

  /** Also when its end is known from elsewhere. */
  #settle(state: ProcessState): void {
    if (this.state.kind !== 'running') return;
    this.state = state;
    if (this.#connections) this.#beginning?.note?.(this.#connections);
    this.#end.resolve();
    // After it was detached its real end is unknown.
    if (!this.#isLetGo) this.#tell({ kind: 'ended', state });
  }

  /** Resolves when its end is known here too: the sandbox has said that it is dead, and the listener inside may never hear of it. */
  async dead(): Promise<void> {
    await settlesWithin(newsMs, this.ended);
    if (this.state.kind !== 'running') return;
    this.#settle({ kind: 'killed', signal: 'KILL' });
    await this.detach();
  }

  /** Stops listening; the process goes on where its sandbox does. */
  async detach(): Promise<void> {
    this.#isLetGo = true;
    this.#interruptions = maxInterruptions;
    await this.#follower?.kill('KILL').catch(() => undefined);
  }
}

/** `end SIZE HOW` */
function endOf(said: string): { size: number; state: ProcessState } | undefined {
  const [, size, how = ''] = /^end (\d{1,15}) (\w{1,20})\n/m.exec(said) ?? [];
  return size === undefined ? undefined : { size: Number(size), state: stateOf(how) };
}

/** As it is written down inside: a code, a signal, or nothing that means anything. */
export function stateOf(how: string): ProcessState {
  if (/^\d{1,3}$/.test(how)) return { kind: 'exited', code: Number(how) };
  if (/^SIG[A-Z]{1,10}$/.test(how)) return { kind: 'killed', signal: how.slice(3) };
  return { kind: 'lost', reason: 'nothing was written down about its end' };
}
