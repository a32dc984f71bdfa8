import type { BackgroundNotice } from './background.ts';
import type { SessionKey } from './session.ts';
import type { CallOutcome } from './tool.ts';

/** Where messages come from and go to: a chat, or a thread in it. */
export type Place = Omit<SessionKey, 'user'>;

/** A person on a platform. People choose their names: data, never trusted and never a key. */
export interface Person {
  /** The platform's id, unique on that platform. */
  id: string;
  name: string;
  /** The roles that the server gave them, where the message was said; for a platform that has them. */
  roles?: readonly string[] | undefined;
}

/** A file that was sent, still at the platform. */
export interface IncomingFile {
  /** How the channel finds it again. */
  id: string;
  name: string;
  mimeType: string | undefined;
  bytes: number | undefined;
}

interface Happening {
  /** The same when the platform delivers it twice, and no other's in this place. */
  id: string;
  place: Place;
  from: Person;
  at: Date;
}

export interface IncomingMessage extends Happening {
  kind: 'message';
  text: string;
  /** A chat with one person. */
  isDirect: boolean;
  /** Meant for us: a direct message, a mention, or a reply to one of ours. */
  isAddressed: boolean;
  /** Written by another person and forwarded by `from`: nothing in it is a command or an answer. */
  forwarded?: { from: string } | undefined;
  /** The message it replies to. `from` is empty when the author is not known: then the text may be made up. */
  quoted: { from: string; text: string } | undefined;
  files: readonly IncomingFile[];
  /** Not a message of a person: a report on background processes that `from` started, as `role`. Never set by a channel. */
  report?: { role: 'admin' | 'user'; notices: readonly BackgroundNotice[]; omitted: number } | undefined;
}

/** Before the emoji, in the data of a press that is a reaction. No button has such data. */
export const reactionPrefix = 'reaction:';

/** Somebody pressed a button of ours, or reacted to a message of ours. */
export interface IncomingPress extends Happening {
  kind: 'press';
  /** The data of the button. */
  data: string;
  /** The message it is on. */
  message: string;
}

export type Incoming = IncomingMessage | IncomingPress;

/** Resolves when it is stored and will be handled, also after a crash; only then may the channel acknowledge it to the platform. */
export type Accept = (incoming: Incoming) => Promise<void>;

export interface Button {
  label: string;
  /** At most 64 bytes, without meaning to a reader. */
  data: string;
  /** The answer that a press gives to a question. Security: left out it counts as a yes; the label is for people. */
  kind?: 'yes' | 'no' | undefined;
}

export interface OutgoingFile {
  name: string;
  data: Uint8Array;
}

export interface Outgoing {
  /** CommonMark, not longer than the channel takes. */
  text: string;
  /** Rows of buttons; for a channel that has them. */
  buttons?: readonly (readonly Button[])[] | undefined;
  /** The message it replies to. */
  replyTo?: string | undefined;
  file?: OutgoingFile | undefined;
  /** Makes no sound, where that can be chosen. */
  isQuiet?: boolean | undefined;
  /** On a channel with `sendsOncePerKey`, a second message under the same key is the first one. */
  key?: string | undefined;
}

/**
 * What is said to a platform, by what it is: a message that asks something, the answer to a press that one person sees, any
 * other new message, the last change of a message or its removal, a new message that will grow, its growth, and signs such as
 * typing.
 */
export type Saying = 'question' | 'notice' | 'message' | 'change' | 'draft' | 'growth' | 'sign';

/** Of everything with the same `of`, a platform takes one each `everyMs`, and after a rest `burst` at once. */
export interface RateLimit {
  of: string;
  everyMs: number;
  burst: number;
}

/** The largest file in either direction, also where a platform takes more: it is held in memory and in the database. */
export const maxCarriedBytes = 20 * 1024 * 1024;

export interface ChannelTraits {
  /** Only the owner of this program reaches it, such as at its terminal, so there are no access rules. */
  isOwn: boolean;
  /** The longest text of one message, in UTF-16 units of its source. */
  maxTextLength: number;
  /** The longest text beside a file, where that is less. */
  maxCaptionLength?: number | undefined;
  buttons: boolean;
  /** Reactions to messages of ours arrive, as presses. */
  reactions?: boolean | undefined;
  /** How often one message may be edited; undefined when it cannot be. */
  editEveryMs: number | undefined;
  /** The largest file it takes; 0 when it takes none. */
  maxFileBytes: number;
  /** The sign that people type before the name of a command, where that is not `/`. */
  commandSign?: string | undefined;
  typing: boolean;
  /** Sending twice under one key sends once, also from a later process. */
  sendsOncePerKey: boolean;
}

export type ChannelState =
  | { kind: 'up'; since: Date }
  | { kind: 'starting' | 'stopped' }
  | { kind: 'down'; since: Date; reason: string }
  | Linking;

/**
 * The owner has to link an account on their phone, by scanning a QR code or entering a code there. Security: whoever does so first, theirs is the
 * account that talks. Both are for the screen of the owner, and for no log, metric or chat.
 */
export interface Linking {
  kind: 'linking';
  since: Date;
  /** Why it is not linked any more. */
  reason?: string | undefined;
  /** The text in the QR code. It changes every some seconds. */
  qr?: string | undefined;
  code?: string | undefined;
}

/** Live progress of a turn. Not stored: everything that matters is also sent as a message. */
export type Activity =
  | { kind: 'turn-started'; turn: string }
  | { kind: 'turn-ended'; turn: string }
  | { kind: 'tool-started'; turn: string; call: string; tool: string; input: unknown }
  | { kind: 'tool-output'; turn: string; call: string; text: string }
  /** `text`: what it waits for, such as "waiting for a free sandbox"; undefined when it runs. */
  | { kind: 'tool-waiting'; turn: string; call: string; text: string | undefined }
  | { kind: 'tool-ended'; turn: string; call: string; outcome: CallOutcome; text: string };

/**
 * A chat platform. It parses and formats; who may talk, and what becomes of it, is for others. Failures of `send`,
 * `edit` and `fetchFile` are `channel/busy` (it was not taken; try again, after `retryAfterMs` when that is known; with
 * `isOfPlace` when it may be taken elsewhere), `channel/unanswered` (it is unknown whether it was taken), or
 * `channel/refused` (never again).
 */
export interface Channel {
  readonly kind: string;
  readonly traits: ChannelTraits;
  /**
   * For a channel whose places differ: the traits of one. undefined while nothing can be shown there; what is to be said there then waits
   * without being tried.
   */
  traitsAt?(place: Place): ChannelTraits | undefined;
  /** The limits of the platform for what is said at a place; without it there are none. */
  limits?(place: Place, saying: Saying): readonly RateLimit[];
  /** The current state. A channel that went down comes up again by itself. */
  readonly state: ChannelState;
  /** Begins to listen. Rejects when it can never work, such as with a wrong token, which its state says too; an outage is no reason. */
  start(accept: Accept): Promise<void>;
  /** Nothing is accepted any more when it resolves. */
  stop(): Promise<void>;
  /** Resolves with the id of the message. */
  send(place: Place, message: Outgoing, signal?: AbortSignal): Promise<string>;
  edit?(place: Place, id: string, message: Outgoing, signal?: AbortSignal): Promise<void>;
  /** Takes one of ours out of the chat. Resolves also when it is not there. */
  remove?(place: Place, id: string, signal?: AbortSignal): Promise<void>;
  /** Shows for some seconds that an answer is being written. Never rejects. */
  typing?(place: Place): Promise<void>;
  /** For a channel that can show more than messages. */
  activity?(place: Place, activity: Activity): void;
  /** Confirms a button press to the person who pressed it. Never rejects. */
  noticed?(press: IncomingPress, text?: string): Promise<void>;
  fetchFile(file: IncomingFile, maxBytes: number): Promise<Buffer>;
  /** Where this person and we talk alone, on a platform where that follows from who they are. It may refuse what is sent there. */
  directPlace?(person: string): Place;
}
