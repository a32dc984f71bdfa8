import type { SessionEntry } from '../core/conversation.ts';

export interface ResetSettings {
  when: 'idle' | 'daily' | 'never';
  idleMs: number;
}

/** The hour of the day at which nobody is in the middle of something. */
const dailyHour = 4;

/** Whether a conversation is so old that the next word begins a new one. */
export function resetIsDue({ startedAt, lastActiveAt }: SessionEntry, { when, idleMs }: ResetSettings, now: Date): boolean {
  // A conversation that has just been made is not old.
  if (when === 'never' || lastActiveAt <= startedAt) return false;
  if (when === 'idle') return now.getTime() - lastActiveAt.getTime() > idleMs;
  const boundary = new Date(now);
  boundary.setHours(dailyHour, 0, 0, 0);
  if (boundary > now) boundary.setDate(boundary.getDate() - 1);
  return lastActiveAt < boundary;
}
