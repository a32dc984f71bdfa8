import type { ColumnType } from 'kysely';

/** Milliseconds since 1970. Some drivers give large integers as text. */
type Time = ColumnType<number | string, number, number>;
type OptionalTime = ColumnType<number | string | null, number | null, number | null>;
/** 0 or 1. */
type Flag = number;
/** JSON text. */
type Json = string;

/** The tables after the last migration, in words every dialect understands. */
export interface Tables {
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
    lease_until: OptionalTime;
  };
  proofs: {
    backend: string;
    spec_hash: string;
    proven_at: Time;
    held: Flag;
    lines: Json;
  };
}
