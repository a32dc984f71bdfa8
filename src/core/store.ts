/**
 * What Hermetic remembers. An operation is durable when it resolves: a crash right after it loses nothing. Several processes may use
 * the same store at once; each operation happens as a whole or not at all.
 */
export interface Store {
  readonly sandboxes: SandboxLedger;
  readonly proofs: ProofLedger;
  /** Waits for what is under way. What is asked afterwards rejects. */
  close(): Promise<void>;
}

export interface SandboxKey {
  backend: string;
  name: string;
}

/** `opening`: something of it may exist. `open`: somebody has it. `closed`: nobody has it, though it may still be there. */
export type SandboxState = 'opening' | 'open' | 'closed';

export interface SandboxEntry extends SandboxKey {
  /** The parts that name the session, such as `['cli', 'default']`. Data: never joined into text. None: a spare that nobody has claimed. */
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
  /** Names the process that has it, in a way no later process shares. */
  owner: string | undefined;
  /** Until then somebody vouches for it, whatever the state says. */
  leaseUntil: Date | undefined;
}

/** `createdAt` is now; an entry that exists keeps its own. */
export type SandboxBeginning = Omit<SandboxEntry, 'state' | 'lastUsedAt'>;

export interface SandboxOpening {
  specHash: string;
  owner: string;
  leaseUntil: Date;
}

/** What is named must match. */
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
   * somebody's: of several who claim at once one gets it.
   */
  claim(spare: SandboxKey, session: readonly string[]): Promise<boolean>;
  /** Rejects with `sandbox/not-found` when nothing was begun: what was made is not recorded then and has to go. */
  opened(key: SandboxKey, opening: SandboxOpening): Promise<void>;
  /** Moves neither time back. Does nothing when there is no entry. */
  used(key: SandboxKey, at: Date, leaseUntil: Date): Promise<void>;
  /** Ends ownership and lease. With an `owner`, only when it still is that one's. Does nothing when there is no entry. */
  closed(key: SandboxKey, at: Date, owner?: string): Promise<void>;
  /** Only when nothing of the sandbox is left. */
  forget(key: SandboxKey): Promise<void>;
  find(key: SandboxKey): Promise<SandboxEntry | undefined>;
  /** The oldest first. */
  list(filter?: SandboxFilter): Promise<SandboxEntry[]>;
}

/** What was tried from inside a sandbox of this spec, and whether it held. */
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
