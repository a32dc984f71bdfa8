import { userInfo } from 'node:os';

/** Whoever runs this. */
export function personHere(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? '?'}`;
  }
}
