import type { WebCall, WebChat, WebEvent, WebFile, WebMessage } from '../../src/core/web-log.ts';
import type { SecretsView, SecretView, SignInView, StatusView } from '../../src/http/parts.ts';

/** As JSON carries it: times are text, and what is undefined is left out. */
type Wire<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? readonly Wire<Item>[]
    : T extends object
      ? { [Key in keyof T as undefined extends T[Key] ? never : Key]: Wire<T[Key]> } & {
          [Key in keyof T as undefined extends T[Key] ? Key : never]?: Wire<Exclude<T[Key], undefined>> | undefined;
        }
      : T;

export type Chat = Wire<WebChat>;
export type Message = Wire<WebMessage>;
export type FileInfo = Wire<WebFile>;
export type Call = Wire<Omit<WebCall, 'input'>> & { input: unknown };
export type Status = Wire<StatusView>;
export type SignIn = Wire<SignInView>;
export type Secret = SecretView;
export type Secrets = SecretsView;
/** `done` is what to tell the person. */
export type SecretsAnswer = Secrets & { done: string };
/** Everything that a stream says of a chat. */
export type ChatEvent = LiveEvent | { kind: 'message'; message: Message };
/** Everything but messages. */
export type LiveEvent =
  | { kind: 'now'; turn?: string; calls: readonly Call[] }
  | Extract<WebEvent, { kind: 'activity' | 'typing' | 'noticed' }>;

/** `next`: where the rest begins. */
export interface ChatList {
  chats: readonly Chat[];
  next?: string;
}

export interface Page {
  title: string;
  messages: readonly Message[];
  seq: number;
  hasMore: boolean;
  limits: { fileBytes: number };
}
