/** Whose conversation it is, in parts that are never joined to a text. */
export interface SessionKey {
  platform: string;
  /** Server or team, where the platform has them. */
  workspace: string | undefined;
  chat: string;
  thread: string | undefined;
  /** undefined where everybody in the chat or thread shares the session. */
  user: string | undefined;
}
