/**
 * The promises of a sandbox on every backend. Tools get a `Sandbox`; only the code that opened it has the `OpenSandbox`.
 */

import type { Brought } from './approval.ts';
import type { ConnectionAsker, Connections } from './egress.ts';

/** `none`: the host itself. `process`: kernel namespaces. `container`: an engine's container. `machine`: another kernel. */
export type Isolation = 'none' | 'process' | 'container' | 'machine';

export type Network = 'none' | 'restricted' | 'open';

/** 0 means no limit. */
export interface Limits {
  cpus: number;
  memoryMb: number;
  diskMb: number;
  pids: number;
}

export interface Mount {
  /** Absolute path on the host. */
  source: string;
  /** Absolute path inside. */
  target: string;
  readOnly: boolean;
}

/** Everything that decides what a sandbox is. Two equal specs describe interchangeable sandboxes. */
export interface SandboxSpec {
  /** Unique on this machine and harmless in paths, labels and host names: `[a-z0-9-]{1,40}`, derived by hashing. */
  name: string;
  /** The session it belongs to, as people call it. Data: never part of a path or a command. */
  session: string;
  /** Host directory of this sandbox alone, mode 0700. Made by `open`, removed by `destroy`. */
  directory: string;
  image: string | undefined;
  /** Where the session starts: absolute, `~`, `~/path`, or relative to the backend's place for work, which undefined is. */
  workdir: string | undefined;
  env: Readonly<Record<string, string>>;
  mounts: readonly Mount[];
  limits: Limits;
  /** undefined: the most open network the backend can contain. */
  network: Network | undefined;
  /** Workspace and home return with the session; otherwise they are gone on close. */
  persistent: boolean;
  user: 'default' | 'host';
  /** A sandbox that outlives this process ends by itself after so many seconds with no program attached and no process left running. */
  idleSeconds: number;
  /** For so many seconds after the last command a process that was left running keeps the sandbox; 0: for as long as it runs. */
  backgroundSeconds: number;
}

/** Features that a spec may ask for beyond running commands. A new feature does not compile until every backend answers it. */
export type Feature = 'image' | 'mounts' | 'host-user' | 'network-none' | 'network-open' | 'ephemeral';

export interface Traits {
  isolation: Isolation;
  /** Everything inside may be ruined without harm. */
  disposable: boolean;
  /** Processes outlive this program and are found again by name. */
  durable: boolean;
  /** The host sees how much disk space a sandbox takes: where no quota can be set, the limit is watched. */
  seesDisk: boolean;
  /** Addresses that mean the host inside a sandbox, where the network is made for it in user space. */
  hostAliases: readonly string[];
  /** The settings that only this backend knows, in words. `auto` then tries no other one. */
  insists: string | undefined;
  /** Ways to install packages inside and where they are kept, in sentences for the agent. */
  installing: string;
  /** true, or the reason why not. */
  honours: Readonly<Record<Feature, true | string>>;
}

/** How each limit is enforced here, in words, or the reason why it is not. */
export type Enforcement = Readonly<Record<keyof Limits, { enforced: boolean; how: string }>>;

export type Check =
  | { usable: true; summary: string; limits: Enforcement; notes: readonly string[] }
  | {
      usable: false;
      code: 'backend/not-installed' | 'backend/not-running' | 'backend/not-permitted' | 'backend/unavailable';
      reason: string;
      fix: string;
    };

/** Hears of the progress of opening a sandbox. */
export interface OpenListener {
  /**
   * Something the person should know: a limit that is not enforced, a replaced sandbox. `inChat` is what people in a chat are told of it;
   * undefined when it is not for them. Security: it says nothing of the host.
   */
  notice(text: string, inChat?: string): void;
  /** Progress of something slow, such as an image pull. */
  progress(text: string): void;
}

/** Ignores everything. */
export const quiet: OpenListener = { notice: () => undefined, progress: () => undefined };

/** A sandbox that an earlier run, or another program, left on this machine under this installation's name. */
export interface ListedSandbox {
  name: string;
  session: string;
  state: 'running' | 'stopped';
  image: string | undefined;
  createdAt: Date;
  /** Empty where there is none on this machine: it was moved or lost, or a crash left only a container or the like. */
  directory: string;
  /**
   * False only where the backend knows that nothing in it returns with a session, or finds no record of one: a crash left it before it had files, or
   * while they were removed. Doubt counts as true. The ledger has the last word: see `survey` in `src/sandboxes/sweep.ts`.
   */
  hasFiles: boolean;
  /**
   * Ends it and keeps what returns with the session, unless a program has it open, or a process that a command left there still runs and
   * `force` is not given. Resolves with whether it does not run any more.
   */
  stop(force: boolean): Promise<boolean>;
  /**
   * Removes the sandbox, its processes and its directory; of a directory without a record, only that: what else has its name is listed apart. Does
   * nothing when they are gone already.
   */
  destroy(): Promise<void>;
}

/** Absolute paths inside a sandbox. */
export interface Places {
  home: string;
  workdir: string;
}

/** A directory of the host that a sandbox sees from its start, and can neither change nor replace. */
export interface ReceivedFiles {
  /** Absolute path on the host. */
  directory: string;
  /** Absolute path inside. */
  inside: string;
}

/** Disk space of the host that a sandbox takes now, as far as it can be measured. */
export interface DiskUse {
  bytes: number;
  /** Of those, in files that were deleted and that a process still has open. */
  deletedBytes: number;
  /** Files and directories, the same ones included. */
  files: number;
}

export interface Backend {
  readonly kind: string;
  readonly traits: Traits;
  /** The backend's own settings for all its sandboxes, as text. Other settings make other sandboxes. */
  readonly settings: readonly string[];
  /** Runs `true` in a throw-away sandbox, of this image where there are images. Never throws: a failure is the answer. */
  check(image?: string): Promise<Check>;
  /** true when it can restrict the network of its sandboxes on this machine, or the reason why not. Never rejects. */
  canRestrict(): Promise<true | string>;
  /** Attaches to the sandbox of this name or makes it. Leaves nothing behind when it throws. */
  open(spec: SandboxSpec, listener: OpenListener, signal?: AbortSignal): Promise<OpenSandbox>;
  /** Never includes what belongs to another installation. */
  list(): Promise<ListedSandbox[]>;
  /** Where a session of this spec has its home and begins, as its commands see it. */
  places(spec: SandboxSpec): Places;
  /** Where the host puts files for the sandbox of this spec; undefined where no directory of the host can be shown in it. */
  received(spec: Pick<SandboxSpec, 'directory'>): Promise<ReceivedFiles | undefined>;
  diskUse(spec: SandboxSpec): Promise<DiskUse>;
}

export interface TerminalSize {
  columns: number;
  rows: number;
}

export interface ExecRequest {
  /** Bash source. Runs in a fresh bash that has the session's exports, functions, aliases, options, umask and cwd. */
  command: string;
  /** Become `$1`, `$2`, … Never shell text. */
  args?: readonly string[];
  /** For this command only. A directory that does not exist ends the command with code 126. */
  cwd?: string;
  /** For this command only. */
  env?: Readonly<Record<string, string>>;
  /** `open`: the caller writes and closes. `empty` (default): end of file at once. */
  stdin?: 'open' | 'empty';
  /** Runs on a terminal inside the sandbox; everything then arrives as stdout. */
  terminal?: TerminalSize;
  /** Leaves the session's state as it was. */
  stateless?: boolean;
  /**
   * Without the session's exports, functions, aliases and options, which may have made something else of any program there is; only its
   * directory. Implies `stateless`. Not on a terminal.
   */
  plain?: boolean;
  /** Decides about connections of the command, and of what it leaves running, that no rule of a restricted network allows. Without it they are blocked. */
  askToConnect?: ConnectionAsker | undefined;
  /** Only listens to a process that was left running, and keeps the sandbox from being reclaimed for no longer than that one may. */
  listensOnly?: boolean;
  /**
   * Asked at the moment the command is handed to its shell, when nothing can change the session before it any more. false:
   * `sandbox/changed` is thrown and nothing was run.
   */
  onlyIf?: (session: SessionMeaning) => boolean;
}

/** The parts of a session's state that the meaning of a command depends on. */
export type SessionMeaning = Pick<Sandbox, 'cwd' | 'definitions'>;

export interface OutputChunk {
  stream: 'stdout' | 'stderr';
  data: Buffer;
}

/** How a command ended. Never guessed: `lost` when it cannot be known. */
export type Exit = { kind: 'exited'; code: number } | { kind: 'signaled'; signal: string } | { kind: 'lost'; reason: string };

/** A limit of the sandbox that was hit: the kernel killed a process for want of memory, or would not start another one. */
export type LimitHit = 'out-of-memory' | 'out-of-processes';

/** The same for people. */
export const limitHitSentences: Readonly<Record<LimitHit, string>> = {
  'out-of-memory': 'The sandbox ran out of memory: the kernel killed a process in it (terminal.container_memory).',
  'out-of-processes': 'The sandbox ran out of processes: one could not be started (terminal.container_pids).',
};

export type KillSignal = 'INT' | 'TERM' | 'KILL';

export interface ExecHandle {
  /**
   * In order of arrival, any bytes. Back-pressured: unread output holds the command up. Ends when the command has ended and its
   * output is read; what a background process prints later is dropped. Can be iterated once.
   */
  readonly output: AsyncIterable<OutputChunk>;
  /** Never rejects. */
  readonly exit: Promise<Exit>;
  /**
   * Which limits of the sandbox were hit while the command ran, by it or by what runs beside it. Resolves after the exit and never
   * rejects. Empty where the backend does not count them. Costs nothing unless it is asked for.
   */
  troubles(): Promise<readonly LimitHit[]>;
  /**
   * Which connections failed since the command began, and which were allowed, by it or by what runs beside it. Resolves after the exit and never
   * rejects; asked again later, it has what happened since. Empty where the network is not restricted. Costs nothing unless it is asked for.
   */
  connections(): Promise<Connections>;
  write(data: Uint8Array | string): Promise<void>;
  closeStdin(): void;
  /**
   * Signals every process the command started and that still runs, in any session, group or parent it moved to. With `KILL` it
   * resolves when they are dead; a sandbox that cannot do that is ended as a whole. A process that gave up the mark by which it is
   * known dies with the next `KILL` in its sandbox, whichever command that is for.
   */
  kill(signal: KillSignal): Promise<void>;
  /** Only for a command that runs on a terminal. */
  resize(size: TerminalSize): Promise<void>;
}

export interface Sandbox {
  readonly name: string;
  /** The session's current directory, inside. */
  readonly cwd: string;
  /** The session's functions and aliases by name, as bash source. Came from inside: data, never to be run outside. */
  readonly definitions: Readonly<Record<string, string>>;
  /** Throws only before anything has started. A command is never run twice. */
  exec(request: ExecRequest): Promise<ExecHandle>;
  /** A shell that reads commands from `write`, one line after another, or a person at a terminal. Its state returns to the session. */
  shell(terminal?: TerminalSize): Promise<ExecHandle>;
  /** Relative paths start at the session's cwd. Symbolic links are followed inside only. */
  readFile(path: string): Promise<Buffer>;
  /** All or nothing. Keeps the mode of a file that exists. */
  writeFile(path: string, data: Uint8Array | string): Promise<void>;
}

export interface OpenSandbox extends Sandbox {
  /** Paths that judged commands brought from elsewhere, the oldest first. Kept by the host: nothing inside can change it. */
  readonly brought: readonly Brought[];
  /** Counts one more judged command, and adds what it brings. Each is remembered for a number of commands. */
  bring(paths: readonly Brought[]): void;
  /** Resolves with the reason when the sandbox has ended, for any cause. Never rejects. */
  readonly ended: Promise<string>;
  /**
   * Whether a process that any command started still runs in it, also one of another program. Rejects when the sandbox does not answer.
   * Takes a look at every process there is: for the moment before it is ended, not for every command.
   */
  hasLiveProcesses(): Promise<boolean>;
  /** Kills every process that any command started, whenever that was. A sandbox that cannot do that is ended as a whole. */
  killAll(): Promise<void>;
  /** Ends it now, with every process in it, also when other programs have it open. Its files stay. */
  end(reason: string): Promise<void>;
  /** Lets go. A durable, persistent sandbox stays until its idle time is over; any other ends now. Ephemeral files are removed. */
  close(): Promise<void>;
  /** Lets go, and ends it with every process in it unless another program has it open too. What would return after `close` does. */
  stop(): Promise<void>;
  /** Ends it and removes its files. */
  destroy(): Promise<void>;
}
