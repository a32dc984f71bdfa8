import { sandboxSettings } from '../config/sandbox-settings.ts';
import type { BlockedConnection } from '../core/egress.ts';
import type { Backend, ExecRequest, LimitHit, OpenListener, Sandbox } from '../core/sandbox.ts';
import type { SessionKey } from '../core/session.ts';
import { maxLeaseMs, type SandboxEntry, type SandboxLedger } from '../core/store.ts';
import { ByteStore } from '../lib/byte-store.ts';
import { Latest } from '../lib/latest.ts';
import { livePid } from '../lib/process-name.ts';
import { sweepCanaries } from '../proof/index.ts';
import { type RunEnd, run } from '../shell/run.ts';
import { claimSpare } from './claim.ts';
import { compare, comparisonOf } from './comparison.ts';
import { isHeld } from './lease.ts';
import { missingDirectories } from './missing-directories.ts';
import { candidates, type OpenedSandbox, openSandbox, type SandboxDeps } from './open.ts';
import { HeldListener } from './pool/held-listener.ts';
import { type FoundSandbox, type OpenedInPool, SandboxPool } from './pool/pool.ts';
import { type Opened, PooledSandbox, type Queued } from './pool/pooled-sandbox.ts';
import { Spares } from './pool/spares.ts';
import { messagingSession, namedSession, type SandboxRequest, sandboxName } from './request.ts';
import { type Leftover, sweep } from './sweep.ts';

/** The sandbox of a session, whether or not there is one at the moment: a command opens it, and it is closed when it has been idle for long. */
export interface SessionSandbox extends Sandbox {
  readonly isOpen: boolean;
  /** How long until it is closed unless it is used; undefined while something runs in it or it is not open. */
  readonly closesInMs: number | undefined;
  /** undefined while it is not open. */
  readonly opened: OpenedSandbox | undefined;
  /** undefined unless it is being opened. `queued`: it waits until others are closed. */
  readonly opening: { queued: Queued | undefined } | undefined;
  /** Makes sure that it is open; resolves with the sandbox, its backend and its spec. */
  open(signal?: AbortSignal): Promise<OpenedSandbox>;
  /** Ends it unless something runs in it: a command, or a process that one left there. Files and state stay. */
  close(): Promise<void>;
  /** Ends it and removes its files. */
  destroy(): Promise<void>;
}

export interface RunRequest extends Omit<ExecRequest, 'command' | 'stdin' | 'terminal'> {
  /** Default: `terminal.timeout`. */
  timeoutMs?: number;
  signal?: AbortSignal;
  /** Of each stream so much is kept; the rest is read and dropped. Default: 1 MiB. */
  maxBytes?: number;
  /** The former name of `maxBytes`. */
  mostBytes?: number;
}

/** Everything about a command that was run to its end. */
export interface RunResult {
  /** The code is in here: `end.kind === 'exited'` and then `end.code`. */
  end: RunEnd;
  stdout: string;
  stderr: string;
  /** There was more output than is kept. */
  isCut: boolean;
  troubles: readonly LimitHit[];
  blocked: readonly BlockedConnection[];
}

/** Who is meant: a conversation, shared as `gateway.sandbox_scope` says, or a name of your own. */
export type SessionName = SessionKey | string;

type Spare = OpenedSandbox & { listener: HeldListener };
type Pooled = OpenedSandbox & OpenedInPool;

const audience = 'messaging';
const noSession: SandboxRequest = { audience, parts: [], title: '' };
const defaultMaxBytes = 1024 * 1024;

/**
 * A sandbox for every session, with the settings of messaging sessions (`gateway.*`, else `terminal.*`): at most `gateway.max_sandboxes` at
 * once, spares included, each closed after `gateway.sandbox_lifetime` of doing nothing, and `terminal.warm_spares` ready for sessions that have none yet.
 */
export class SessionSandboxes {
  readonly #deps: SandboxDeps;
  /** Also closes the state database. */
  readonly #closeAll: () => Promise<void>;
  readonly #pool: SandboxPool<SandboxRequest, Pooled>;
  readonly #spares: Spares<Spare>;
  /** The notices people in the chat got when the sandbox of this session was last opened. */
  readonly #told = new Latest<ReadonlySet<string>>();
  #sweepingAgain: NodeJS.Timeout | undefined;

  constructor(deps: SandboxDeps, closeAll: () => Promise<void>) {
    const { gateway, terminal } = deps.loaded().config;
    this.#deps = deps;
    this.#closeAll = closeAll;
    this.#spares = new Spares({
      wanted: () => Math.min(terminal.warm_spares, this.#pool.room),
      make: (signal) => this.#makeSpare(signal),
      isCurrent: async (spare) => (await compare(deps, spare, noSession)).differs === 'not',
      // It may run on, and counts like a sandbox of an earlier program.
      left: (spare) => void this.#pool.adopt([{ name: spare.spec.name, lastUsedAt: new Date(), stop: () => stopAgain(spare) }]),
    });
    this.#pool = new SandboxPool({
      maxOpen: gateway.max_sandboxes,
      idleMs: gateway.sandbox_lifetime * 1000,
      backgroundMs: gateway.background_lifetime * 1000,
      nameOf: ({ parts }) => this.#nameOf(parts),
      open: (request, listener, signal) => this.#open(request, listener, signal),
    });
  }

  /**
   * For the start of a program, and once more when a backend works that did not then: removes leftovers of one that
   * died, never a sandbox in use or the files of a session; counts sandboxes that still run against the limit; then
   * makes spares, without waiting for them. Rejects, and has removed nothing, when a backend cannot list its sandboxes.
   */
  async start(): Promise<readonly Leftover[]> {
    await sweepCanaries(this.#deps.loaded().home);
    const backends = candidates(this.#deps, { audience });
    const ledger = (await this.#deps.store()).sandboxes;
    const leftovers = await sweep({ backends, ledger });
    this.#sweepAgain(backends, ledger);
    await this.#pool.adopt(await this.#running(backends, ledger));
    void this.#spares.fill();
    return leftovers;
  }

  /** Warnings, in sentences: directories of sessions that are not where the configuration says. */
  async missingDirectories(): Promise<readonly string[]> {
    const { sandboxes } = await this.#deps.store();
    return await missingDirectories(sandboxes, this.#deps.loaded().config.terminal.sandbox_dir);
  }

  /** Leases of a program that died where it cannot be seen from here, such as in an earlier container of this one, are over then. */
  #sweepAgain(backends: readonly Backend[], ledger: SandboxLedger): void {
    const later = (): void => void sweep({ backends, ledger }).catch(() => undefined);
    clearTimeout(this.#sweepingAgain);
    this.#sweepingAgain = setTimeout(later, this.#deps.leaseMs ?? maxLeaseMs).unref();
  }

  /** Sandboxes that outlived an earlier program, or belong to another one. */
  async #running(backends: readonly Backend[], ledger: SandboxLedger): Promise<FoundSandbox[]> {
    const found: FoundSandbox[] = [];
    for (const backend of backends) {
      if (!backend.traits.durable) continue;
      // In this order: a sandbox is in the ledger before it is made.
      const all = await backend.list();
      const entries = new Map((await ledger.list({ backend: backend.kind })).map((entry) => [entry.name, entry]));
      for (const { name, state, createdAt, stop } of all) {
        if (state !== 'running') continue;
        const entry = entries.get(name);
        // Sandboxes that this program has open, spares too, are counted where they were opened.
        if (entry?.owner !== undefined && livePid(entry.owner) === process.pid && isHeld(entry)) continue;
        const session = entry && entry.session.length > 0 ? this.#nameOf(entry.session) : name;
        const stopUnheld = async (force: boolean): Promise<boolean> => {
          const now = await ledger.find({ backend: backend.kind, name });
          return now && isHeld(now) ? false : await stop(force);
        };
        found.push({ name: session, lastUsedAt: entry?.lastUsedAt ?? createdAt, stop: stopUnheld });
      }
    }
    return found;
  }

  /** The same object for the same session. Nothing is opened yet. A listener is told what happens from now on. */
  of(session: SessionName, listener?: OpenListener): SessionSandbox {
    const { sandbox_scope: scope } = this.#deps.loaded().config.gateway;
    const request = typeof session === 'string' ? namedSession(session) : messagingSession(session, scope);
    return this.#pool.sandboxOf(request, listener);
  }

  /** The former names of `of(session).open()` and `of(session).opened`. */
  opened(session: SessionName): Promise<OpenedSandbox> {
    return this.of(session).open();
  }

  openedNow(session: SessionName): OpenedSandbox | undefined {
    return this.of(session).opened;
  }

  /** Runs a command to its end. A command that fails, is ended by the clock or is lost is a result; one that never started rejects. */
  async run(session: SessionName, command: string, options: RunRequest = {}): Promise<RunResult> {
    const {
      timeoutMs = this.#deps.loaded().config.terminal.timeout * 1000,
      signal,
      mostBytes = defaultMaxBytes,
      maxBytes = mostBytes,
      ...request
    } = options;
    const sandbox = this.of(session);
    await sandbox.open(signal);
    const handle = await sandbox.exec({ ...request, command });
    const kept = { stdout: new ByteStore(maxBytes), stderr: new ByteStore(maxBytes) };
    let isCut = false;
    const end = await run(handle, {
      timeoutMs,
      signal,
      onOutput: ({ stream, data }) => {
        if (!kept[stream].push(data)) isCut = true;
      },
    });
    const [troubles, { blocked }] = await Promise.all([handle.troubles(), handle.connections()]);
    return { end, stdout: kept.stdout.view().toString(), stderr: kept.stderr.view().toString(), isCut, troubles, blocked };
  }

  /** Every sandbox of this installation that belongs to a session, open or not, the oldest first. */
  async list(): Promise<SandboxEntry[]> {
    const entries = await (await this.#deps.store()).sandboxes.list();
    return entries.filter(({ session }) => session.length > 0);
  }

  /** How many sandboxes of sessions are open. */
  get openCount(): number {
    return this.#pool.open.length;
  }

  /** How many spares are ready. */
  get spares(): number {
    return this.#spares.ready;
  }

  /** Resolves when there are as many spares as are wanted, or with the reason why one could not be made. Never rejects. */
  prepare(): Promise<Error | undefined> {
    return this.#spares.fill();
  }

  /** Closes everything: sandboxes, spares and the state database. */
  async close(): Promise<void> {
    await this.#closeAll();
  }

  /** Closes all sandboxes and destroys the spares. Durable sandboxes end by themselves when their time is over. */
  async stop(): Promise<void> {
    clearTimeout(this.#sweepingAgain);
    await this.#pool.stop();
    await this.#spares.stop();
  }

  async #open(request: SandboxRequest, whole: OpenListener, signal: AbortSignal | undefined): Promise<Pooled> {
    const before = this.#deps.loaded();
    const listener = this.#onlyNew(request, whole);
    const claimed = await this.#claim(request, listener);
    // They count against the limit, and a session comes before them.
    if (!claimed) await this.#spares.shrink();
    const opened = claimed ?? (await openSandbox(this.#deps, request, listener, signal));
    void this.#spares.fill();
    return { ...opened, compare: comparisonOf(this.#deps, opened, request, before), stopAgain: () => stopAgain(opened) };
  }

  /** Drops notices this chat has already seen. */
  #onlyNew({ parts }: SandboxRequest, listener: OpenListener): OpenListener {
    const name = this.#nameOf(parts);
    const before = this.#told.get(name);
    const now = new Set<string>();
    this.#told.set(name, now);
    return {
      progress: (text) => listener.progress(text),
      notice: (text, inChat) => {
        listener.notice(text, inChat === undefined || before?.has(inChat) ? undefined : inChat);
        if (inChat !== undefined) now.add(inChat);
      },
    };
  }

  #nameOf(parts: readonly string[]): string {
    return sandboxName(this.#deps.installation(), parts);
  }

  async #claim(request: SandboxRequest, listener: OpenListener): Promise<OpenedSandbox | undefined> {
    const spare = await this.#spares.offer(async (ready) => await claimSpare(this.#deps, ready, request));
    spare?.listener.handTo(listener);
    return spare;
  }

  /** Security: opened as for a session, so that one whose proof is broken never becomes a spare. */
  async #makeSpare(signal: AbortSignal): Promise<Spare> {
    const listener = new HeldListener();
    return { ...(await openSandbox(this.#deps, noSession, listener, signal)), listener };
  }
}

/** The sandbox of one session, opened by its first command, for a program that has no pool. */
export function singleSandbox(deps: SandboxDeps, request: SandboxRequest, listener: OpenListener): PooledSandbox<OpenedSandbox & Opened> {
  const { idleSeconds, backgroundSeconds } = sandboxSettings(deps.loaded().config, request.audience);
  const open = async (told: OpenListener, signal?: AbortSignal) => {
    const before = deps.loaded();
    const opened = await openSandbox(deps, request, told, signal);
    return { ...opened, compare: comparisonOf(deps, opened, request, before) };
  };
  const ignore = (): void => undefined;
  const events = { rested: ignore, closed: ignore, left: ignore };
  const times = { idleMs: idleSeconds * 1000, backgroundMs: backgroundSeconds * 1000 };
  return new PooledSandbox({ name: sandboxName(deps.installation(), request.parts), ...times, open, ...events }, listener);
}

/** Asks the backend: `stop` of the sandbox itself may also fail in its record, after it has ended. */
async function stopAgain({ backend, spec }: OpenedSandbox): Promise<boolean> {
  const left = (await backend.list()).find(({ name }) => name === spec.name);
  return left === undefined || (await left.stop(true));
}
