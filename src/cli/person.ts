import { userInfo } from 'node:os';

/** The user who runs this command. */
export function personHere(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? '?'}`;
  }
}

/** The same person as an actor, among those of chats. */
export function shellPerson(): string {
  return `shell:${personHere()}`;
}
