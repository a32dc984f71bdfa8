import type { SessionEntry } from '../../core/conversation.ts';
import { durationText } from '../../lib/duration.ts';

export interface ResetSettings {
  when: 'idle' | 'daily' | 'never';
  idleMs: number;
}

/** An hour of the day at which few people are in the middle of something. */
const dailyHour = 4;

/** Tells the chat that a new conversation begins by itself. */
export function resetText({ lastActiveAt }: SessionEntry, { when }: ResetSettings, now: Date): string {
  const why = when === 'idle' ? `nothing was said here for ${durationText(now.getTime() - lastActiveAt.getTime())}` : 'a new day has begun';
  return `This is a new conversation, because ${why}. What was said before is not part of it; files in the sandbox stay.`;
}

/** Whether a conversation is so old that the next word begins a new one. */
export function resetIsDue({ startedAt, lastActiveAt }: SessionEntry, { when, idleMs }: ResetSettings, now: Date): boolean {
  if (when === 'never') return false;
  const last = Math.max(startedAt.getTime(), lastActiveAt.getTime());
  if (when === 'idle') return now.getTime() - last > idleMs;
  const boundary = new Date(now);
  boundary.setHours(dailyHour, 0, 0, 0);
  if (boundary > now) boundary.setDate(boundary.getDate() - 1);
  return last < boundary.getTime();
}
