import type { Sync } from './conversation.ts';

/** Kinds of events that get a record. */
export const auditKinds = [
  'judgement',
  'question',
  'answer',
  'grant',
  'mode',
  'command',
  'script',
  'tool',
  'sandbox',
  'network',
  'message',
  'page',
  'access',
  'config',
  'secret',
] as const;
export type AuditKind = (typeof auditKinds)[number];

/** Data that JSON can carry. */
export type AuditDetail = string | number | boolean | null | readonly AuditDetail[] | { readonly [key: string]: AuditDetail };

/** Something that happened. Secrets have been taken out of it. */
export interface AuditEvent {
  at: Date;
  /** Who did it: a person as the platform knows them, `agent`, or `hermetic` itself. */
  actor: string;
  /** The parts that name the session; none when it concerns no session. */
  session: readonly string[];
  kind: AuditKind;
  what: { readonly [key: string]: AuditDetail };
  /** One word or two: `allowed`, `denied`, `exited 0`. */
  outcome: string;
}

export interface AuditRecord extends AuditEvent {
  /** 1, 2, 3, … without a gap. */
  seq: number;
  /** The hash of the record before, or `firstHash`. */
  previous: string;
  /** Of everything else in the record. */
  hash: string;
}

/** The hash before the first record. */
export const firstHash = '0'.repeat(64);

/** Where the log ends. */
export interface AuditHead {
  seq: number;
  hash: string;
}

/** Records that were moved from the log to a file, from one number to another. */
export interface AuditSegment {
  first: number;
  last: number;
  /** Of the last one: what the next record follows. */
  hash: string;
}

/** The text of a record that its hash is made of: the same on every machine. */
export function auditContent({ seq, at, actor, session, kind, what, outcome, previous }: Omit<AuditRecord, 'hash'>): object {
  return { seq, at: at.toISOString(), actor, session, kind, what, outcome, previous };
}

/** Every field that is set must match. */
export interface AuditFilter {
  after?: number | undefined;
  kind?: AuditKind | undefined;
  session?: readonly string[] | undefined;
  outcome?: string | undefined;
  since?: Date | undefined;
}

/** Records are only ever added, one after the other, however many processes add at once. Each holds the hash of the one before. */
export interface AuditLog {
  /** On disk when it resolves, unless `sync` says later; in either case the end of the program loses nothing. */
  append(events: readonly AuditEvent[], sync?: Sync): Promise<void>;
  /** At most `limit` records, the oldest first; with `newest`, the newest of them. */
  list(filter: AuditFilter, limit: number, newest?: boolean): Promise<AuditRecord[]>;
  /** Kept apart from the records, so that records missing at the end are missed. */
  head(): Promise<AuditHead>;
  /** Records that were moved to files, in order. `list` begins after them. */
  segments(): Promise<AuditSegment[]>;
  /**
   * Removes the records of a segment whose file is on disk. Rejects, and nothing was removed, unless it begins right after the segment before it
   * and its last record is in the log with that hash.
   */
  archive(segment: AuditSegment): Promise<void>;
}
