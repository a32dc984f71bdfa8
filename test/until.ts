import { setTimeout as delay } from 'node:timers/promises';

export interface Timing {
  withinMs?: number;
  everyMs?: number;
}

/** Resolves with the first answer that counts as true. Rejects when none comes in time, naming what was awaited. */
export async function until<T>(what: string, condition: () => T | Promise<T>, timing: Timing = {}): Promise<NonNullable<T>> {
  const { withinMs = 60_000, everyMs = 20 } = timing;
  const deadline = Date.now() + withinMs;
  for (;;) {
    const answer = await condition();
    if (answer) return answer as NonNullable<T>;
    if (Date.now() > deadline) throw new Error(`waited ${withinMs} ms in vain until ${what}`);
    await delay(everyMs);
  }
}

/**
 * For a command with a time limit that must get somewhere before it is ended. A slow machine gets more time. `gotThere` looks at a trace that the
 * command leaves there, never at the result under test.
 */
export async function withEnoughTime<T>(attempt: (seconds: number) => Promise<T>, gotThere: () => Promise<boolean>): Promise<T> {
  for (const seconds of [1, 5]) {
    const result = await attempt(seconds);
    if (await gotThere()) return result;
  }
  return await attempt(30);
}
