import type { Incoming, Outgoing, Place } from './channel.ts';

/**
 * The parts of a conversation, as they are stored. The same promises as for every store: whole or not at all, several processes may use it, and
 * what has resolved survives the end of the program. A power failure keeps everything up to some operation, which is at least the last one below that
 * is said to be on disk. So an effect outside needs one of those before it, and nothing more.
 */

/** `now`: it is on disk when it resolves. `later`: soon after it. */
export type Sync = 'now' | 'later';

/**
 * `waiting`: no turn has taken it. `running`: a turn is about it. `done`: it was answered, or needs no answer. `aside`: it failed too often, and is in
 * `SetAsideLedger`.
 */
export type InboxState = 'waiting' | 'running' | 'done' | 'aside';

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
  /** The role of the first turn about it; later changes of the person's role do not count. undefined when no turn has begun, or the role is unknown. */
  role: 'admin' | 'user' | undefined;
  /** How often it was begun without an end. */
  tries: number;
}

/** One that is not what this version writes. */
export interface UnreadableEntry {
  seq: number;
  content: string;
  reason: string;
}

/**
 * How long the inbox knows a message that was handled: longer than a platform delivers it again, or a person asks for
 * it with `/retry`.
 */
export const inboxMemoryMs = 30 * 24 * 60 * 60 * 1000;

export interface InboxLedger {
  /** On disk when it resolves. undefined, and nothing is stored, when it has arrived before. */
  accept(session: readonly string[], incoming: Incoming, receivedAt: Date): Promise<number | undefined>;
  /** Of all sessions or of one, in the order of arrival. What cannot be read is left out. */
  list(state: InboxState, session?: readonly string[]): Promise<InboxEntry[]>;
  /** Those that wait or run, and that `list` leaves out. */
  unreadable(): Promise<UnreadableEntry[]>;
  /** Counts a try before it is made, so that one that ends the program is counted too. */
  trying(seq: number): Promise<void>;
  /** Does not count the attempt: the program was asked to end. */
  excuse(seqs: readonly number[]): Promise<void>;
  /** Makes waiting entries part of a turn that has this role, which counts as a try. Those that another program has taken are not in the answer. */
  begin(seqs: readonly number[], turn: string, role?: InboxEntry['role']): Promise<number[]>;
  /** Back in line: a turn that came to nothing. */
  release(turn: string): Promise<void>;
  done(seqs: readonly number[]): Promise<void>;
  /** Forgets what is done and was received before. From then on the same message counts as a new one. */
  prune(before: Date, signal?: AbortSignal): Promise<void>;
}

/**
 * `waiting`: to be sent. `sending`: handed to the platform, which has not answered. `sent`: it is there. `dropped`: it never will be, for the
 * reason in `failure`.
 */
export type OutboxState = 'waiting' | 'sending' | 'sent' | 'dropped';

/** One message to be said. */
export interface OutboxItem {
  /** Adding twice under one key adds once. */
  key: string;
  message: Outgoing;
  /** The key of a message that this one takes the place of. When that one was not sent, it never will be. */
  replaces?: string | undefined;
  /** Nothing is said: the message it takes the place of goes. */
  isRemoval?: boolean | undefined;
  /** Shows what is not finished yet. It is worth nothing to a later process, which drops it. */
  isDraft?: boolean | undefined;
  /** Not before. */
  dueAt?: Date | undefined;
  /** The conversation that is told in its next turn when it is dropped. */
  session?: readonly string[] | undefined;
}

export interface OutboxEntry extends OutboxItem {
  seq: number;
  place: Place;
  /** The file is forgotten once it is sent or dropped. */
  message: Outgoing;
  replaces: string | undefined;
  isRemoval: boolean;
  isDraft: boolean;
  state: OutboxState;
  addedAt: Date;
  dueAt: Date;
  /** How often it was handed to the platform. */
  attempts: number;
  /** How often it was unknown whether the platform took it. */
  doubts: number;
  /** The last reason why it could not be sent. */
  failure: string | undefined;
  /** The platform's id of it. */
  sentId: string | undefined;
}

/** Messages to send. Those of one chat go one after the other. */
export interface OutboxLedger {
  /** All of them, in this order. False, and nothing is stored, when there is one under any of these keys already, sent or not. */
  add(place: Place, items: readonly OutboxItem[], at: Date): Promise<boolean>;
  /** Where something is to be sent or being sent. The longest waiting first. */
  places(): Promise<Place[]>;
  /** The first of this place that is neither sent nor dropped: while it is being sent, nothing else is. */
  head(place: Place): Promise<OutboxEntry | undefined>;
  /** The same of what is no draft. */
  headOfLasting(place: Place): Promise<OutboxEntry | undefined>;
  find(key: string): Promise<OutboxEntry | undefined>;
  /** The state alone, without the message and its file. */
  outcome(key: string): Promise<Pick<OutboxEntry, 'state' | 'failure'> | undefined>;
  /** Right before it is handed to the platform; on disk when it resolves. False when it is not waiting: of several who begin at once one does. */
  begin(seq: number): Promise<boolean>;
  /** It is there, under this id of the platform. */
  sent(seq: number, id: string, at: Date): Promise<void>;
  /** Back in line. `inDoubt`: it is unknown whether the platform took it. */
  retry(seq: number, dueAt: Date, failure: string, inDoubt: boolean): Promise<void>;
  /**
   * `inDoubt`: it may be there all the same. `notice` takes its place in the line of the chat, and its conversation is
   * told, both at once with the drop.
   */
  drop(seq: number, failure: string, at: Date, more?: { inDoubt?: boolean | undefined; notice?: OutboxItem | undefined }): Promise<void>;
  /** Drops what is waiting under these keys; what is being sent stays. */
  withdraw(keys: readonly string[], failure: string, at: Date): Promise<void>;
  /**
   * Takes over from a process that died: what it was sending is back in line, in doubt, and its drafts are dropped, in doubt if they were being
   * sent. Only when no other process sends.
   */
  recover(at: Date): Promise<void>;
  /** Forgets what was sent or dropped before; how long ago must be longer than anybody adds twice. */
  prune(before: Date, signal?: AbortSignal): Promise<void>;
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
  /** Of the input: read from what the provider had kept, and written there for later. */
  cachedTokens: number;
  writtenTokens: number;
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
  /** When the present epoch began. */
  startedAt: Date;
  lastActiveAt: Date;
  /** Choices made in the chat, such as the model: JSON, by name. */
  choices: Readonly<Record<string, unknown>>;
  /** What the model was told of its surroundings in the present epoch: JSON, or undefined before it was told. */
  facts: unknown;
  /** Messages of ours that were dropped, in sentences, which the model was not told of. */
  undelivered: string | undefined;
  /** Of all epochs. */
  usage: Usage;
}

/** Changes to a session that does not exist reject. */
export interface ConversationLedger {
  /** Makes it when there is none; one that exists keeps its title and place. */
  session(parts: readonly string[], about: { title: string; place: Place }, at: Date): Promise<SessionEntry>;
  find(parts: readonly string[]): Promise<SessionEntry | undefined>;
  /** The most recently active first. */
  list(limit: number): Promise<SessionEntry[]>;
  /** Moves no time back. */
  active(parts: readonly string[], at: Date): Promise<void>;
  /** `undefined` takes a choice back. */
  choose(parts: readonly string[], name: string, value: unknown): Promise<void>;
  /** The model was told of these messages that were dropped. */
  toldUndelivered(parts: readonly string[], told: string): Promise<void>;
  /** Nothing happens when the epoch is over. */
  keepFacts(parts: readonly string[], epoch: number, facts: unknown): Promise<void>;
  /** A new epoch: the transcript is kept but no longer read, and the choices and facts are gone. */
  reset(parts: readonly string[], at: Date): Promise<void>;
  addUsage(parts: readonly string[], usage: Usage): Promise<void>;
  /** A turn stays in the epoch of its first message: what it says after a reset is kept, but not read. `sync` is `now` unless it is said. */
  append(
    parts: readonly string[],
    turn: string,
    messages: readonly unknown[],
    at: Date,
    more?: { sync?: Sync; usage?: Usage | undefined },
  ): Promise<void>;
  /** Of the present epoch, from the last summary on, in order. */
  read(parts: readonly string[]): Promise<TranscriptEntry[]>;
  /** The session, and the messages of `read` alone. */
  present(parts: readonly string[]): Promise<{ entry: SessionEntry; messages: unknown[] }>;
  /** All messages of one turn, if it belongs to the present epoch, in order: also those that a summary stands for, and no summary. */
  readTurn(parts: readonly string[], turn: string): Promise<unknown[]>;
  /** As if it had never been recorded. */
  forgetTurn(parts: readonly string[], turn: string): Promise<void>;
  /**
   * From now on `read` begins with this message, under the number and the turn of the last one it stands for, followed by what came after
   * `upTo`. False, and nothing has changed, when the present epoch has no such entry or a summary that goes as far.
   */
  summarise(parts: readonly string[], upTo: number, summary: unknown, at: Date): Promise<boolean>;
  /** Removes whole turns that ended before, and summaries made before; never those of a turn that may be resumed. */
  prune(before: Date, signal?: AbortSignal): Promise<void>;
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

export type PairingOutcome =
  | { kind: 'paired'; person: PairedPerson }
  /** `left`: how many more wrong ones this approver may try; undefined when they are not counted. */
  | { kind: 'wrong'; left: number | undefined }
  /** This approver tried too many wrong ones. No code is looked at until then, also no right one. */
  | { kind: 'locked'; until: Date };

/**
 * Security: a code is stored as a salted, slow hash; reading the store is not enough to pair. What one person asks for, or one approver
 * gets wrong, takes nothing from anybody else. Every change, and every wrong code, is in the audit log, or was not
 * made.
 */
export interface PairingLedger {
  /**
   * Opens or renews the request of this person, for an hour at most; the code given before is worth nothing then. undefined, and nothing has
   * changed, when it has asked less than ten minutes ago, or when a thousand others of its platform wait: none of them loses its code to it.
   */
  request(request: PairingRequest, code: string): Promise<PairingRequest | undefined>;
  /**
   * Pairs the person who was given this code. After five wrong codes in an hour that approver alone is locked for the rest of the hour,
   * unless it is the owner of the store, who has nothing to guess.
   */
  approve(code: string, by: string, role: PairedPerson['role'], at: Date, isOwner?: boolean): Promise<PairingOutcome>;
  /** At once, and with the code the person may have open. False when it was not paired. */
  revoke(platform: string, person: string, by: string, at: Date): Promise<boolean>;
  find(platform: string, person: string): Promise<PairedPerson | undefined>;
  /** The longest paired first. */
  paired(): Promise<PairedPerson[]>;
  /** The oldest first. */
  open(at: Date): Promise<PairingRequest[]>;
}

/** A place where a person who may talk was heard. */
export interface HeardPlace {
  place: Place;
  /** No one else reads along there. */
  isDirect: boolean;
  /** As the person was called then. */
  name: string;
  at: Date;
}

/** Where people were heard, so that they can be found again. Written by `InboxLedger.accept`, with the message. */
export interface PeopleLedger {
  /** The most recent first. */
  placesOf(platform: string, person: string): Promise<HeardPlace[]>;
}

/** A message that shows a question and does not yet say how it ended. */
export interface QuestionCard {
  /** The id of the question. */
  question: string;
  /** Its key in the outbox. */
  key: string;
  place: Place;
}

export interface CardLedger {
  /** Adding twice adds once. */
  add(card: QuestionCard): Promise<void>;
  /** Of one question, or of all. */
  list(question?: string): Promise<QuestionCard[]>;
  /** It says how the question ended, or never will. */
  forget(key: string): Promise<void>;
}
