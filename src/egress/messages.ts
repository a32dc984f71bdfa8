import type { BlockedConnection, EgressRules } from '../core/egress.ts';

/** What `opener.mjs` opens, in this order. */
export interface OpenerOrder {
  sockets: readonly { protocol: 'tcp' | 'udp'; address: string; port: number }[];
  /** The network namespace of the gateway, in which nothing is opened. */
  outside: string;
  maxMs: number;
}

/** Of the next socket of the order. An opened one comes with it. */
export type OpenerReport = { kind: 'opened' } | { kind: 'failed'; reason: string; takenPort?: number };

/** Why a door could not be opened. */
export interface DoorFailure {
  reason: string;
  /** A program inside has it. */
  takenPort?: number | undefined;
}

/** `NamespaceEntrance` as plain data. Descriptors are those of the whole program. */
export interface EntranceWords {
  command: readonly string[];
  input: number | undefined;
  namespace: number | undefined;
}

/** From the main thread to the egress thread. `close` also gives up a door that is being opened. */
export type Request =
  | { kind: 'open'; door: number; entrance: EntranceWords }
  | { kind: 'close'; door: number }
  | { kind: 'rules'; rules: EgressRules }
  /** Every connection that was blocked before is reported before the answer. */
  | { kind: 'report' }
  | { kind: 'stop' };

export interface NumberedRequest {
  id: number;
  request: Request;
}

/** From the egress thread to the main thread. Each request gets one answer. */
export type Notice =
  | { kind: 'answer'; id: number; failure: DoorFailure | undefined }
  /** The helper of this door was started, or will never be. */
  | { kind: 'started'; door: number }
  | { kind: 'blocked'; door: number; connections: readonly BlockedConnection[] }
  | { kind: 'lost'; door: number; reason: string };
