import type { ConnectionRequest } from './egress.ts';

/**
 * An action, declared before it is done. The judge and the person see the whole of it: nothing is cut, nothing is summed up.
 */
export type Action = JudgedAction | ConnectAction;

/** Connections that no rule of a restricted network allows. `command` is the text that wants them, such as a command or a script. */
export interface ConnectAction {
  kind: 'connect';
  connections: readonly ConnectionRequest[];
  command: string;
  cwd: string;
}

/** What a policy can judge. Security: connections are for people alone. */
export type JudgedAction =
  /** Bash source, in the foreground or not. */
  | { kind: 'command'; command: string; cwd: string }
  | { kind: 'script'; language: ScriptLanguage; code: string; cwd: string }
  /**
   * Input for the standard input of a process: for a shell, a command like any other. `process` is its command where that is known,
   * `cwd` where it was started, `before` what it has been given so far; a line that was only begun there stands at the start of `text`.
   */
  | { kind: 'input'; process: string; text: string; cwd?: string; before?: string }
  /** Paths as they were given; relative ones start at `cwd`. `write`: the whole file; `edit`: parts of it. */
  | { kind: 'read' | 'write' | 'edit' | 'send'; path: string; cwd: string };

export type ScriptLanguage = 'python' | 'javascript' | 'bash';

/** On whose behalf: a person in a chat, one at this machine, a scheduled job, a user's own agent, a script that calls tools. */
export type Source = 'chat' | 'cli' | 'cron' | 'mcp' | 'script';

/** Everything a judgement may depend on beside the action itself. */
export interface JudgeContext {
  /** Names the session: sessions are served in turn, and their actions one after the other. */
  session: string;
  /** Everything inside the sandbox may be ruined without harm, except `hostPaths`. */
  disposable: boolean;
  /** Paths inside at which files of the host can be written. */
  hostPaths: readonly string[];
  source: Source;
  role: 'admin' | 'user';
  /** The home of the user inside the sandbox; the meaning of `~`. */
  home: string;
  /** Absolute paths at which Hermetic keeps its own things on the machine the command runs on; empty when they are not there. */
  ownPaths: readonly string[];
  /** Those below them that are the session's, such as its workspace. */
  sessionPaths?: readonly string[] | undefined;
  /** Processes of the machine that the command runs on, by number; undefined where Hermetic does not see them. */
  processes?: NamedProcesses | undefined;
  /** Paths that earlier commands of the session brought; the newest record about a path is the last. */
  brought?: readonly Brought[] | undefined;
  /** The session's functions and aliases by name, and as `$NAME` the variables it exported, with their bash source. */
  definitions: Readonly<Record<string, string>>;
}

/** A file or directory that a command of the session brought from elsewhere. */
export interface Brought {
  /** Absolute; a directory with all below it ends in a slash. */
  path: string;
  /** `own`: the session has made it its own since, by writing it anew or with the yes of a person to run it. */
  how: 'downloaded' | 'unpacked' | 'patched' | 'own';
}

export interface NamedProcesses {
  /** Hermetic's own, and those above them, which end them with themselves. */
  hermetic: readonly number[];
  /** Those that the session started, of the ones that the action names. */
  session: readonly number[];
}

export interface Finding {
  /** Of the rule table, such as `files/recursive-delete`. */
  rule: string;
  /** A few words. */
  title: string;
  /** One sentence. */
  why: string;
  /** The program it is about, as far as it is known; what a grant for the session is bound to. */
  program: string | undefined;
  /** A yes for the session covers the program; otherwise, and where it is not said, this exact text alone. */
  byProgram?: boolean | undefined;
  /** The path or name it is about, as far as it is known. For people to read: no grant is bound to it. */
  target?: string | undefined;
}

/** `deny` cannot be overridden by anybody. `brings`: for later commands of the session, when the action happens. */
export type Verdict =
  | { kind: 'allow'; brings?: readonly Brought[] | undefined }
  | { kind: 'ask'; findings: readonly Finding[]; brings?: readonly Brought[] | undefined }
  | { kind: 'deny'; findings: readonly Finding[] };

/** Never rejects, and answers in bounded time: what it cannot judge is to be asked about. */
export interface Policy {
  judge(action: JudgedAction, context: JudgeContext): Promise<Verdict>;
}

/** May it run? A refusal is worded for the caller, often a model. */
export type Permission =
  /** `by`: a person who was asked, this one time or with a grant; a grant of an earlier answer; or undefined, when no yes was needed. */
  | { allowed: true; by?: 'once' | 'session' | 'always' | 'grant' | undefined }
  /** `refusedBy`: the person who said no. `isUnanswered`: people were asked, and none answered in time. */
  | { allowed: false; reason: string; refusedBy?: string | undefined; isUnanswered?: boolean | undefined };

/** The question to a person before an action: exactly this, and nothing else. */
export interface Question {
  /** Unguessable. An answer settles the question with this id and no other. */
  id: string;
  /** Short enough to be typed. No other question ever has it. */
  code: string;
  /** As people call it. */
  session: string;
  /** The sandbox it would run in, and the backend that made it. */
  sandbox: string;
  backend: string;
  actions: readonly Action[];
  findings: readonly Finding[];
  askedAt: Date;
  /** No answer until then is a no. */
  expiresAt: Date;
}

/**
 * `once`: this one time. `session`: these findings, until the session ends. `always`: these findings, remembered. Security: a yes to a
 * script is a yes to that script alone.
 */
export type Answer =
  | { kind: 'once' | 'session'; by: string; remark?: string | undefined }
  | { kind: 'always'; by: string; remark?: string | undefined; expiresAt?: Date | undefined }
  | { kind: 'deny'; by: string; remark?: string | undefined };

/** A way to reach a person who may answer. */
export interface Approver {
  /**
   * True when it shows the question to all who may answer it, and they answer elsewhere, where it is checked that they may. Otherwise it reaches
   * only the person who asked.
   */
  readonly reachesApprovers?: boolean | undefined;
  /** Waits for a person. undefined when no answer came in time or the signal came first. When it rejects, the answer is no. */
  ask(question: Question, signal: AbortSignal): Promise<Answer | undefined>;
}

/** On whose behalf a call is made; carried with the call, never kept beside it. */
export interface CallOrigin {
  source: Source;
  role: JudgeContext['role'];
  /** undefined: there is no person to ask. */
  approver: Approver | undefined;
  /** Who asked for it, as the platform knows them, such as `telegram:4711`; undefined at this machine, where it is the owner. */
  person?: string | undefined;
  /** Who else said something that it may be about, in the same turn. */
  others?: readonly string[] | undefined;
  /** They wrote it themselves, and no model did. */
  isTyped?: boolean | undefined;
  /** The turn that it belongs to. */
  turn?: string | undefined;
  /** A durable name of what asks, such as a call in a turn: after a restart it takes up the question it had asked. */
  run?: string | undefined;
}

/**
 * Answers for every action of one session. Resolves when it is known whether they may run, which may take as long as a
 * person does. `onAsking` is called when a person is asked. Security: when it rejects, nothing may run.
 */
export type Guard = (actions: readonly Action[], origin: CallOrigin, signal: AbortSignal, onAsking?: () => void) => Promise<Permission>;

export interface SessionGuard extends Guard {
  /** Whether grants cover everything about the actions. People are not asked. With `isRecorded`, a yes is in the log when it resolves. */
  isGranted(actions: readonly Action[], origin: CallOrigin, options: { isRecorded: boolean }): Promise<boolean>;
}
