import type { Answer, Question, Source } from './approval.ts';
import type { AuditEvent, AuditLog } from './audit.ts';
import type { BackgroundLedger } from './background.ts';
import type { ChannelNoteLedger } from './channel-notes.ts';
import type { CardLedger, ConversationLedger, InboxLedger, OutboxLedger, PairingLedger, PeopleLedger } from './conversation.ts';
import type { HermeticError } from './errors.ts';
import type { SetAsideLedger } from './set-aside.ts';
import type { SignInLedger } from './sign-ins.ts';
import type { WebLog } from './web-log.ts';

/**
 * The state of Hermetic. An operation is durable when it resolves: a crash right after it loses nothing (of conversations, a power failure may
 * lose the last ones, as said there). Several processes may use the same store at once; each operation happens as a whole or not at all.
 */
/**
 * Everything that is remembered. `prune` of any part removes in portions, between which all others have their turn; when its signal aborts it ends after
 * the one under way.
 */
export interface Store {
  readonly sandboxes: SandboxLedger;
  readonly proofs: ProofLedger;
  readonly approvals: ApprovalLedger;
  readonly grants: GrantLedger;
  readonly modes: ModeLedger;
  readonly audit: AuditLog;
  readonly inbox: InboxLedger;
  readonly setAside: SetAsideLedger;
  readonly outbox: OutboxLedger;
  readonly conversations: ConversationLedger;
  readonly pairing: PairingLedger;
  readonly people: PeopleLedger;
  readonly cards: CardLedger;
  readonly channelNotes: ChannelNoteLedger;
  readonly webLog: WebLog;
  readonly signIns: SignInLedger;
  readonly background: BackgroundLedger;
  /** Resolves, before anybody hears of it otherwise, when something did not get to the disk. From then on everything rejects. */
  readonly lost: Promise<HermeticError>;
  /**
   * Why it takes no writes; undefined when it does. By the outcome of the last write of this program, and when that is
   * older, of one that is tried for this: however often it is asked, no more than one in that time. Never rejects.
   */
  writeFailure(maxAgeMs: number): Promise<Error | undefined>;
  /** Gives the space of what was removed back to the file system, in portions too. One that an earlier version made keeps its size. */
  shrink(signal?: AbortSignal): Promise<void>;
  /** Waits for what is under way. What is asked afterwards rejects. */
  close(): Promise<void>;
}

export interface SandboxKey {
  backend: string;
  name: string;
}

/** `opening`: parts of it may exist. `open`: a program has it open. `closed`: no program has it open, though it may still exist. */
export type SandboxState = 'opening' | 'open' | 'closed';

export interface SandboxEntry extends SandboxKey {
  /** The parts that name the session, such as `['cli', 'default']`. Data: never joined into text. None: a spare that no session has claimed. */
  session: readonly string[];
  image: string | undefined;
  /** Of the sandbox that was last opened, or of the first one begun when none ever was. */
  specHash: string;
  directory: string;
  /** Stays true until the entry is forgotten: files that were kept once are not taken for ephemeral ones. */
  persistent: boolean;
  createdAt: Date;
  lastUsedAt: Date;
  state: SandboxState;
  /** Names the process that has it, in a way no other process shares, wherever it runs. */
  owner: string | undefined;
  /**
   * Until then a program has it, in every state, unless the program renews its lease; undefined when no lease runs. That is decided by a clock of the
   * store, which all programs share and which does not jump: never compare it with another time.
   */
  leaseUntil: Date | undefined;
}

/** No lease is longer: what an earlier run of a machine wrote is not taken for one that runs. */
export const maxLeaseMs = 60_000;

/** The right of a program to a sandbox for so long, at most `maxLeaseMs`, from when the store hears of it. */
export interface SandboxLease {
  /** Names the process. */
  owner: string;
  leaseMs: number;
}

/** `createdAt` is now; an entry that exists keeps its own. */
export type SandboxBeginning = Omit<SandboxEntry, 'state' | 'lastUsedAt' | 'owner' | 'leaseUntil'> & SandboxLease;

export interface SandboxOpening extends SandboxLease {
  specHash: string;
}

/** Every field that is set must match. */
export interface SandboxFilter {
  backend?: string | undefined;
  session?: readonly string[] | undefined;
  state?: SandboxState | undefined;
  usedBefore?: Date | undefined;
}

/** Every sandbox of this installation, known before the first thing outside is made for it. */
export interface SandboxLedger {
  /**
   * Of an entry that exists it keeps `createdAt`, `specHash`, a `persistent` that is true, and the later of both leases. Rejects with
   * `sandbox/in-use` when the session has a sandbox of another name on this backend: it never gets two.
   */
  begin(sandbox: SandboxBeginning): Promise<void>;
  /**
   * Gives an open spare to a session that has no sandbox anywhere. False, and nothing has changed, when the session has one or the spare is
   * taken: of several programs that claim at once, one gets it.
   */
  claim(spare: SandboxKey, session: readonly string[]): Promise<boolean>;
  /** Rejects with `sandbox/not-found` when nothing was begun: what was made is not recorded then and has to go. */
  opened(key: SandboxKey, opening: SandboxOpening): Promise<void>;
  /**
   * For a program that has it open. Moves neither last use nor the end of the lease back; an entry without an owner, as another program that had it
   * open too leaves it, is this one's and open again. Resolves with the owner; undefined, and nothing has changed, when there is no entry: another
   * program has removed the sandbox. Unlike the rest, a power failure may lose it.
   */
  renew(key: SandboxKey, lease: SandboxLease, at: Date): Promise<string | undefined>;
  /** Ends ownership and lease. With an `owner`, only when it still is that one's. Does nothing when there is no entry. */
  closed(key: SandboxKey, at: Date, owner?: string): Promise<void>;
  /** Only when nothing of the sandbox is left. */
  forget(key: SandboxKey): Promise<void>;
  find(key: SandboxKey): Promise<SandboxEntry | undefined>;
  /** The oldest first. */
  list(filter?: SandboxFilter): Promise<SandboxEntry[]>;
}

/** The proof of a sandbox of this spec, and whether it held. */
export interface ProofEntry {
  backend: string;
  specHash: string;
  provenAt: Date;
  held: boolean;
  /** Anything JSON can say. */
  lines: unknown;
}

export interface ProofLedger {
  /** Keeps the latest ten of each spec. */
  record(proof: ProofEntry): Promise<void>;
  latest(backend: string, specHash: string): Promise<ProofEntry | undefined>;
  /** The newest first. */
  list(): Promise<ProofEntry[]>;
}

/** `expired` and `withdrawn` mean no, without an answer of a person. */
export type QuestionState = 'open' | 'answered' | 'expired' | 'withdrawn';

/** A question as it was put, and what became of it. */
export interface QuestionEntry extends Question {
  /** The parts that name the session. */
  parts: readonly string[];
  /** Which run of the agent, or of a program, asked. */
  run: string;
  /** Of everything the answer is bound to: actions, directory, backend, sandbox, session and run. */
  digest: string;
  source: Source;
  /** Who asked for it, where the platform knows. */
  person: string | undefined;
  state: QuestionState;
  answer: Answer | undefined;
  /** Where it was answered from, such as `shell` or `telegram`. */
  answeredFrom: string | undefined;
  settledAt: Date | undefined;
  /** When what was allowed began to run. */
  claimedAt: Date | undefined;
}

export type QuestionBeginning = Omit<QuestionEntry, 'state' | 'answer' | 'answeredFrom' | 'settledAt' | 'claimedAt'>;

export type Settlement = { at: Date; events: readonly AuditEvent[] } & (
  | { state: 'answered'; answer: Answer; answeredFrom: string; grants: readonly GrantEntry[] }
  | { state: 'expired' | 'withdrawn' }
);

/** Every field that is set must match. */
export interface QuestionFilter {
  state?: QuestionState | undefined;
  session?: readonly string[] | undefined;
  run?: string | undefined;
  digest?: string | undefined;
  /** Whether it was answered and what it allows has not begun. */
  unclaimed?: boolean | undefined;
}

/** Questions and their answers. Every change is in the audit log, or was not made. */
export interface ApprovalLedger {
  /** False, and nothing is stored, when another question has its id or its code. */
  ask(question: QuestionBeginning, events: readonly AuditEvent[]): Promise<boolean>;
  /**
   * Settles an open question, with the grants of its answer. False, and nothing has changed, when there is none or it is settled: of several
   * who settle at once one does. An answer that comes after `expiresAt` does not settle it.
   */
  settle(id: string, settlement: Settlement): Promise<boolean>;
  /**
   * Takes the right to do what was allowed. True once: not again, and not when it was not allowed. A question that is open may not be
   * claimed.
   */
  claim(id: string, at: Date, events: readonly AuditEvent[]): Promise<boolean>;
  /** Takes back a question that is open, or what it allows when that has not begun. False when there is nothing to take back. */
  withdraw(id: string, at: Date, events: readonly AuditEvent[]): Promise<boolean>;
  /** Removes what was settled before, but for what is allowed and has not begun and what a chat still shows as open. */
  prune(before: Date, signal?: AbortSignal): Promise<void>;
  /** By id or by code, in capitals or not. */
  find(idOrCode: string): Promise<QuestionEntry | undefined>;
  /** The oldest first. */
  list(filter?: QuestionFilter): Promise<QuestionEntry[]>;
}

/** As the `person` of a grant with the scope `session`: good for calls of all people there. Every other name of a person has a platform. */
export const everyone = '*';

/**
 * A remembered yes. It covers findings of one rule about one program on one backend; where what runs is in the text itself, only that very
 * text.
 */
export interface GrantEntry {
  id: string;
  scope: 'session' | 'always';
  /** The session it was given in, and with `session` the one it is good for. */
  parts: readonly string[];
  session: string;
  /** Whose calls it is good for; undefined for the owner at this machine. */
  person: string | undefined;
  backend: string;
  rule: string;
  /** undefined when it is bound to `digest`. */
  program: string | undefined;
  /** Of the one action it is good for. */
  digest: string | undefined;
  grantedBy: string;
  grantedAt: Date;
  grantedFrom: string;
  /** The finding in words, and the remark of the person who gave the grant. */
  why: string;
  /** The question it is the answer to; empty when it was given unasked. */
  question: string;
  expiresAt: Date | undefined;
  revokedAt: Date | undefined;
  revokedBy: string | undefined;
}

/** Every field that is set must match. */
export interface GrantFilter {
  rule?: string | undefined;
  inForceAt?: Date | undefined;
}

export interface GrantLedger {
  /** Stores grants that are no answer to a question. */
  give(grants: readonly GrantEntry[], events: readonly AuditEvent[]): Promise<void>;
  /** Those in force at that time for calls of this person in this session on this backend. */
  inForce(about: { parts: readonly string[]; person: string | undefined; backend: string }, at: Date): Promise<GrantEntry[]>;
  /** The oldest first; without `inForceAt` also those no longer in force. */
  list(filter?: GrantFilter): Promise<GrantEntry[]>;
  find(id: string): Promise<GrantEntry | undefined>;
  /** False when there is none in force. */
  revoke(id: string, by: string, at: Date, events: readonly AuditEvent[]): Promise<boolean>;
  /** Revokes what was granted for the session only. Resolves with how many there were. */
  endSession(parts: readonly string[], at: Date, events: readonly AuditEvent[]): Promise<number>;
}

/** Somebody who has switched questions off in a session, for what they ask for themselves. */
export interface Yolo {
  /** As the platform knows them, such as `telegram:4711`. */
  by: string;
  since: Date;
}

/** People who are not asked in a session for a while. */
export interface ModeLedger {
  /** The longest first. */
  yolo(parts: readonly string[]): Promise<Yolo[]>;
  /** For one person; undefined ends it for everybody in the session. */
  setYolo(parts: readonly string[], yolo: Yolo | undefined, events: readonly AuditEvent[]): Promise<void>;
  /** Of all sessions, the longest first. */
  list(): Promise<(Yolo & { parts: readonly string[] })[]>;
}
