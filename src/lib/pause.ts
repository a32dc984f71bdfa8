import { setTimeout as delay } from 'node:timers/promises';

/** Resolves after this time, or with the signal. Never rejects. */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
}
