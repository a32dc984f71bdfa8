import type { Activity, Button } from './channel.ts';
import type { CallOutcome } from './tool.ts';

/** A file in a web chat, without its bytes. */
export interface WebFile {
  id: string;
  name: string;
  mimeType: string;
  bytes: number;
}

/** The content of a message. */
export interface WebContent {
  /** CommonMark when it is ours; as it was typed when a person wrote it. */
  text: string;
  buttons: readonly (readonly Button[])[];
  /** The id of the message it replies to. */
  replyTo: string | undefined;
  files: readonly WebFile[];
}

/** A message of a web chat as it is now. */
export interface WebMessage extends WebContent {
  id: string;
  /** Counts every change of the chat: of this message the last one. */
  seq: number;
  /** `seq` when it was new: where in the chat it belongs. */
  position: number;
  author: 'us' | 'person';
  at: Date;
  editedAt: Date | undefined;
}

export interface WebChat {
  id: string;
  /** Whose it is. */
  person: string;
  /** Empty until the first message. */
  title: string;
  startedAt: Date;
  lastActiveAt: Date;
}

/** In the list of chats: right after this one. */
export interface ChatPlace {
  at: Date;
  id: string;
}

export interface ChatQuery {
  limit: number;
  after?: ChatPlace | undefined;
  /** Words that are all in the title, in any order and case. */
  search?: string | undefined;
}

export interface ChatPage {
  chats: WebChat[];
  /** The place to go on at; undefined at the end. A search may have found few chats, or none, before it. */
  next: ChatPlace | undefined;
}

/** A message of a person that has no answer yet. */
export interface UnacceptedMessage {
  chat: WebChat;
  message: WebMessage;
}

/**
 * The chats of the web page, message by message. The same promises as for every store. A reader that has read up to one `seq` and asks for what
 * is after it gets every message that is new or was changed since, as it is now, and no other.
 */
export interface WebLog {
  createChat(chat: WebChat): Promise<void>;
  chat(id: string): Promise<WebChat | undefined>;
  /** The most recently active first. */
  chats(person: string, query: ChatQuery): Promise<ChatPage>;
  /**
   * Resolves with the message as it is in the log. Appending twice under one id appends once. A file named in it belongs to the
   * message from then on. undefined when there is no such chat.
   */
  append(
    chat: string,
    message: { id: string; author: WebMessage['author'] } & WebContent,
    at: Date,
    title?: string,
  ): Promise<WebMessage | undefined>;
  /** undefined when there is no such message of ours. Its files stay. What changes nothing is no change. */
  edit(chat: string, id: string, change: Pick<WebContent, 'text' | 'buttons'>, at: Date): Promise<WebMessage | undefined>;
  find(chat: string, id: string): Promise<WebMessage | undefined>;
  /** Changed after `seq`, in the order of the changes. */
  after(chat: string, seq: number, limit: number): Promise<WebMessage[]>;
  /** The latest before a position, the oldest of them first; with the `seq` from which on nothing of the chat is missing. */
  page(chat: string, before: number | undefined, limit: number): Promise<{ messages: WebMessage[]; seq: number; hasMore: boolean }>;
  /** Whether a message of a person was not handed on yet. */
  isWaiting(chat: string, id: string): Promise<boolean>;
  /** A message of a person was handed on. */
  accepted(chat: string, id: string): Promise<void>;
  /** Those that were not: a crash came between. In the order in which they were said. */
  unaccepted(): Promise<UnacceptedMessage[]>;
  addFile(chat: string, file: WebFile, data: Uint8Array, at: Date): Promise<void>;
  file(id: string): Promise<(WebFile & { chat: string }) | undefined>;
  fileData(id: string): Promise<Uint8Array | undefined>;
  /** In place of the one of this name. One that came after no known message came after the last there is. Only the latest of a chat are kept. */
  saveCall(chat: string, call: WebCall): Promise<void>;
  /** As they were written down, the oldest first. */
  calls(chat: string): Promise<WebCall[]>;
  /** Removes messages of before with their files, and chats in which nothing is left and nothing happened since. */
  prune(before: Date, signal?: AbortSignal): Promise<void>;
  /** Removes files added before, that no message has. */
  pruneFiles(before: Date, signal?: AbortSignal): Promise<void>;
}

/** One tool call, as a page shows it. */
export interface WebCall {
  call: string;
  turn: string;
  tool: string;
  input: unknown;
  /** The end of what it printed so far. */
  output: string;
  /** `interrupted`: it was running when the gateway ended. Otherwise its outcome, when it has ended. */
  state: 'running' | 'interrupted' | CallOutcome['kind'];
  /** How it ended, in numbers. */
  exitCode?: number | undefined;
  /** Why it failed, where no exit code says it. */
  reason?: CallOutcome['reason'];
  /** The reason why it waits; undefined while it runs. Not stored. */
  waiting?: string | undefined;
  /** The position of the message it came after, where that is known. */
  after: number | undefined;
}

/** Events for a page that follows a chat. Messages and calls are stored; the rest is the state of that moment. */
export type WebEvent =
  | { kind: 'message'; message: WebMessage }
  /** At first, and whenever a page was too slow to be told everything: what runs. */
  | { kind: 'now'; turn: string | undefined; calls: readonly WebCall[] }
  | { kind: 'activity'; activity: Activity; after: number | undefined }
  | { kind: 'typing' }
  | { kind: 'noticed'; message: string; text: string | undefined };

/** The web chats of one person. `undefined` and false: no such chat, message or file, or another person's. */
export interface WebChats {
  list(query: ChatQuery): Promise<ChatPage>;
  create(): Promise<WebChat>;
  page(
    chat: string,
    before: number | undefined,
    limit: number,
  ): Promise<{ title: string; messages: WebMessage[]; seq: number; hasMore: boolean } | undefined>;
  /** All events after `seq`, until the signal. A slow reader gets fewer intermediate states and misses nothing that is stored. */
  follow(chat: string, seq: number, signal: AbortSignal): Promise<AsyncIterable<WebEvent> | undefined>;
  /** Resolves when it will be handled. Sending twice under one id sends once. */
  receive(chat: string, message: { id: string; text: string; files: readonly string[]; replyTo: string | undefined }): Promise<boolean>;
  /** The same for a button; `data` must be on that message now. */
  press(chat: string, press: { id: string; message: string; data: string }): Promise<boolean>;
  upload(chat: string, file: { name: string; data: Uint8Array }): Promise<WebFile | undefined>;
  download(chat: string, file: string): Promise<(WebFile & { data: Uint8Array }) | undefined>;
}
