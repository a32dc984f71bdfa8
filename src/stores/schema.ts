import type { ColumnType } from 'kysely';
import type { ArchiveTables } from './archive-tables.ts';
import type { BackgroundTables } from './background-tables.ts';
import type { ChannelNoteTables } from './channel-note-tables.ts';
import type { ConversationTables } from './conversation-tables.ts';
import type { ReachTables } from './reach-tables.ts';
import type { RightsTables } from './rights-tables.ts';
import type { SetAsideTables } from './set-aside-tables.ts';
import type { SignInTables } from './sign-in-tables.ts';
import type { WebTables } from './web-tables.ts';

/** Milliseconds since 1970. Some drivers give large integers as text. */
type Time = ColumnType<number | string, number, number>;
type OptionalTime = ColumnType<number | string | null, number | null, number | null>;
/** 0 or 1. */
type Flag = number;
/** JSON text. */
type Json = string;

/** The tables after the last migration, in words every dialect understands. */
export interface Tables
  extends ArchiveTables,
    BackgroundTables,
    ChannelNoteTables,
    ConversationTables,
    ReachTables,
    WebTables,
    RightsTables,
    SetAsideTables,
    SignInTables {
  sandboxes: {
    backend: string;
    name: string;
    session: Json;
    image: string | null;
    spec_hash: string;
    directory: string;
    persistent: Flag;
    created_at: Time;
    last_used_at: Time;
    state: string;
    owner: string | null;
    /** Milliseconds on the clock of `leaseClock`. */
    lease_until: OptionalTime;
  };
  proofs: {
    backend: string;
    spec_hash: string;
    proven_at: Time;
    held: Flag;
    lines: Json;
  };
  questions: {
    id: string;
    code: string;
    session: Json;
    title: string;
    run: string;
    digest: string;
    sandbox: string;
    backend: string;
    source: string;
    person: string | null;
    actions: Json;
    findings: Json;
    asked_at: Time;
    expires_at: Time;
    state: string;
    answer: Json | null;
    answered_from: string | null;
    settled_at: OptionalTime;
    claimed_at: OptionalTime;
  };
  grants: {
    id: string;
    scope: string;
    session: Json;
    title: string;
    person: string | null;
    backend: string;
    rule: string;
    program: string | null;
    digest: string | null;
    granted_by: string;
    granted_at: Time;
    granted_from: string;
    why: string;
    question: string;
    expires_at: OptionalTime;
    revoked_at: OptionalTime;
    revoked_by: string | null;
  };
  audit: {
    seq: Time;
    at: Time;
    actor: string;
    session: Json;
    kind: string;
    what: Json;
    outcome: string;
    previous: string;
    hash: string;
  };
  /** One row. */
  audit_head: {
    id: number;
    seq: Time;
    hash: string;
  };
}
