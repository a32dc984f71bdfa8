import type { AllowedConnection, BlockedConnection, ConnectionAnswer, ConnectionRequest, EgressRules } from '../core/egress.ts';

/** What `opener.mjs` opens, in this order. */
export interface OpenerOrder {
  sockets: readonly { protocol: 'tcp' | 'udp'; address: string; port: number }[];
  /** The network namespace of the gateway, in which nothing is opened. */
  outside: string;
  maxMs: number;
}

/** Of the next socket of the order. An opened one comes with it; `namespace` is the one it is in, as /proc names it. */
export type OpenerReport = { kind: 'opened'; namespace: string } | { kind: 'failed'; reason: string; takenPort?: number };

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
  /** Every connection of the door that was blocked or allowed before is reported before the answer. */
  | { kind: 'report'; door: number }
  /** The marks of the commands that have processes inside are told before the answer, if they can be found out. */
  | { kind: 'look'; door: number }
  /** The reply to a question of the door. */
  | { kind: 'reply'; door: number; question: number; reply: Reply }
  | { kind: 'stop' };

/** What a door asks the main thread about a connection: which command runs alone, or whether it is allowed to the command of this mark. */
export type Question = { kind: 'only-command' } | { kind: 'decide'; mark: string; request: ConnectionRequest; isCheck: boolean };

/** `mark` undefined: none, or several. */
export type Reply = { kind: 'only-command'; mark: string | undefined } | { kind: 'decide'; answer: ConnectionAnswer };

/** Of the questions of a door. */
export type LineNotice =
  /** Gets one reply, unless the door is closed before. */
  | { kind: 'question'; question: number; content: Question }
  /** No client waits for the reply any more. */
  | { kind: 'left'; question: number };

export interface NumberedRequest {
  id: number;
  request: Request;
}

/** From the egress thread to the main thread. Each request gets one answer. */
export type Notice =
  | { kind: 'answer'; id: number; failure: DoorFailure | undefined }
  /** The helper of this door was started, or will never be. */
  | { kind: 'started'; door: number }
  | { kind: 'connections'; door: number; blocked: readonly BlockedConnection[]; allowed: readonly AllowedConnection[] }
  | { kind: 'live'; door: number; marks: ReadonlySet<string> }
  | ({ door: number } & LineNotice)
  | { kind: 'lost'; door: number; reason: string };
