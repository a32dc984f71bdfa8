import type { Incoming, Outgoing, Place } from './channel.ts';

/**
 * What a conversation is made of, as it is remembered. The same promises as for every store: durable when it resolves, whole or not at all,
 * and several processes may use it.
 */

/** `waiting`: nobody has looked at it. `running`: a turn is about it. `done`: it was answered, or needs no answer. */
export type InboxState = 'waiting' | 'running' | 'done';

export interface InboxEntry {
  /** In the order of arrival. */
  seq: number;
  /** The parts that name the session. */
  session: readonly string[];
  incoming: Incoming;
  state: InboxState;
  receivedAt: Date;
  /** The turn that is or was about it. */
  turn: string | undefined;
}

export interface InboxLedger {
  /** undefined, and nothing is stored, when it has arrived before. */
  accept(session: readonly string[], incoming: Incoming, receivedAt: Date): Promise<number | undefined>;
  /** Of all sessions or of one, in the order of arrival. */
  list(state: InboxState, session?: readonly string[]): Promise<InboxEntry[]>;
  /** Makes waiting entries part of a turn. Those that somebody else has taken are not in the answer. */
  begin(seqs: readonly number[], turn: string): Promise<number[]>;
  /** Back in line: a turn that came to nothing. */
  release(turn: string): Promise<void>;
  done(seqs: readonly number[]): Promise<void>;
  /** Forgets what was done before; how long ago must be longer than any platform delivers twice. */
  prune(before: Date): Promise<void>;
}

export interface OutboxEntry {
  seq: number;
  place: Place;
  /** Whoever adds twice under one key has added once. */
  key: string;
  message: Outgoing;
  addedAt: Date;
  /** Not before. */
  dueAt: Date;
  attempts: number;
  /** The last reason why it could not be sent. */
  failure: string | undefined;
}

/** What is to be said. Of one place, one after the other. */
export interface OutboxLedger {
  /** False when there is one under this key already, sent or not. */
  add(place: Place, key: string, message: Outgoing, at: Date): Promise<boolean>;
  /** The first unsent of every place. */
  heads(): Promise<OutboxEntry[]>;
  /** It is there, under this id of the platform. */
  sent(seq: number, id: string, at: Date): Promise<void>;
  retry(seq: number, dueAt: Date, failure: string): Promise<void>;
  /** It never will be. */
  giveUp(seq: number, failure: string, at: Date): Promise<void>;
  /** The id under which the platform has what was added with this key. */
  sentId(key: string): Promise<string | undefined>;
  prune(before: Date): Promise<void>;
}

/** One step of a conversation, in the form in which models take it: JSON, made and read by the agent alone. */
export interface TranscriptEntry {
  seq: number;
  turn: string;
  at: Date;
  message: unknown;
}

export interface Usage {
  inputTokens: number;
  outputTokens: number;
  cachedTokens: number;
  /** In US dollars, as far as prices are known. */
  cost: number | undefined;
}

export interface SessionEntry {
  parts: readonly string[];
  /** As people call it. */
  title: string;
  place: Place;
  /** Counts up at every reset: what was said before is no longer part of the conversation. */
  epoch: number;
  startedAt: Date;
  lastActiveAt: Date;
  /** Choices made in the chat, such as the model: JSON, by name. */
  choices: Readonly<Record<string, unknown>>;
  usage: Usage;
}

export interface ConversationLedger {
  /** Makes it when there is none. */
  session(parts: readonly string[], about: { title: string; place: Place }, at: Date): Promise<SessionEntry>;
  find(parts: readonly string[]): Promise<SessionEntry | undefined>;
  /** The most recently active first. */
  list(limit: number): Promise<SessionEntry[]>;
  active(parts: readonly string[], at: Date): Promise<void>;
  /** `undefined` takes a choice back. */
  choose(parts: readonly string[], name: string, value: unknown): Promise<void>;
  /** A new epoch: the transcript is kept but no longer read, and the choices are gone. */
  reset(parts: readonly string[], at: Date): Promise<void>;
  addUsage(parts: readonly string[], usage: Usage): Promise<void>;
  append(parts: readonly string[], turn: string, messages: readonly unknown[], at: Date): Promise<void>;
  /** Of the present epoch, from the last summary on, in order. */
  read(parts: readonly string[]): Promise<TranscriptEntry[]>;
  /** From now on `read` begins with this message, followed by what came after `upTo`. */
  summarise(parts: readonly string[], upTo: number, summary: unknown, at: Date): Promise<void>;
}

/** Somebody who may talk, or wants to. */
export interface PairedPerson {
  platform: string;
  person: string;
  name: string;
  role: 'admin' | 'user';
  by: string;
  at: Date;
}

export interface PairingRequest {
  platform: string;
  person: string;
  name: string;
  requestedAt: Date;
  expiresAt: Date;
}

/** Security: a code is stored as a salted hash; nobody who reads the store can pair with it. */
export interface PairingLedger {
  /** Opens or renews the request of this person. undefined when it was asked too often, or this place is locked. */
  request(request: PairingRequest, code: string): Promise<PairingRequest | undefined>;
  /** Counts every wrong code. undefined when it fits no open request, or there were too many wrong ones. */
  approve(code: string, by: string, role: PairedPerson['role'], at: Date): Promise<PairedPerson | undefined>;
  revoke(platform: string, person: string): Promise<boolean>;
  find(platform: string, person: string): Promise<PairedPerson | undefined>;
  paired(): Promise<PairedPerson[]>;
  open(at: Date): Promise<PairingRequest[]>;
}
