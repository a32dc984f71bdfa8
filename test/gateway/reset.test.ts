import { expect, it } from 'vitest';
import { resetIsDue } from '../../src/gateway/sessions/reset.ts';

const at = (text: string): Date => new Date(`2026-03-${text}`);
const entry = (startedAt: Date, lastActiveAt: Date) => ({ startedAt, lastActiveAt }) as Parameters<typeof resetIsDue>[0];
const idle = { when: 'idle', idleMs: 60 * 60_000 } as const;
const daily = { when: 'daily', idleMs: 0 } as const;

it('the idle reset ends a conversation after the idle time, counted from the last message or from its beginning', () => {
  expect(resetIsDue(entry(at('01T10:00'), at('01T11:00')), idle, at('01T12:00'))).toBe(false);
  expect(resetIsDue(entry(at('01T10:00'), at('01T11:00')), idle, at('01T12:01'))).toBe(true);
  expect(resetIsDue(entry(at('01T10:00'), at('01T10:00')), idle, at('01T11:01'))).toBe(true);
  expect(resetIsDue(entry(at('02T10:00'), at('01T10:00')), idle, at('02T10:30'))).toBe(false);
});

it('the daily reset ends a conversation at four in the morning', () => {
  expect(resetIsDue(entry(at('01T10:00'), at('01T23:00')), daily, at('02T03:59'))).toBe(false);
  expect(resetIsDue(entry(at('01T10:00'), at('01T23:00')), daily, at('02T04:01'))).toBe(true);
  expect(resetIsDue(entry(at('02T03:00'), at('02T03:30')), daily, at('02T09:00'))).toBe(true);
  expect(resetIsDue(entry(at('02T05:00'), at('01T10:00')), daily, at('02T09:00'))).toBe(false);
});

it('the reset "never" ends no conversation', () => {
  expect(resetIsDue(entry(at('01T10:00'), at('01T10:00')), { when: 'never', idleMs: 0 }, at('20T10:00'))).toBe(false);
});
