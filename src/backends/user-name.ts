import { userInfo } from 'node:os';

/** A user that has no entry, as in many containers, has a number. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 'nobody');
  }
}
