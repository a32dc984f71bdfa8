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

/** A session's key with the names derived from it. Made once by `sessionId`, then passed on. */
export interface SessionId {
  readonly key: SessionKey;
  /** Names it in the database: a structure, in which a missing part differs from every part that is there. */
  readonly parts: readonly string[];
  /** The parts as one text, to look it up by. */
  readonly text: string;
}

export function sessionId(key: SessionKey): SessionId {
  const { platform, workspace, chat, thread, user } = key;
  const parts = ['session', platform, optionalPart(workspace), chat, optionalPart(thread), optionalPart(user)];
  return { key, parts, text: JSON.stringify(parts) };
}

/** No text is written like a missing part. */
export function optionalPart(part: string | undefined): string {
  return JSON.stringify(part ?? null);
}

/** The parts for people to read, without those that are missing. */
export function sessionPartsText(parts: readonly string[]): string {
  if (parts[0] !== 'session') return parts.join(' ');
  const [, platform, workspace, chat, thread, user] = parts;
  const optional = (part: string | undefined): unknown => (part === undefined ? null : JSON.parse(part));
  return [platform, optional(workspace), chat, optional(thread), optional(user)].filter((part) => part != null).join(' ');
}
