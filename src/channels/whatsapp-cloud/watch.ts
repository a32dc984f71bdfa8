import * as z from 'zod';
import { backoffMs } from '../../lib/backoff.ts';
import { pause } from '../../lib/pause.ts';
import { CallError } from '../call-error.ts';
import type { Health } from '../health.ts';
import type { GraphClient } from './client.ts';
import { GraphError, isWrongCredential, reasonOf, unusable } from './failures.ts';

/** How often it is seen whether Meta answers, and takes the token. */
export interface Pace {
  everyMs: number;
  /** After the first failure; after further ones longer. */
  firstPauseMs: number;
}

export const usualPace: Pace = { everyMs: 30_000, firstPauseMs: 1000 };
const maxPauseMs = 60_000;
const refusedPauses = { firstMs: 30_000, maxMs: 300_000 };
const introductionMs = 10_000;

const phoneNumber = z.object({ display_phone_number: z.string().optional(), verified_name: z.string().optional() });

export type PhoneNumber = z.output<typeof phoneNumber>;

/** The number that people write to. */
export async function phoneNumberOf(client: GraphClient, id: string, signal?: AbortSignal): Promise<PhoneNumber> {
  const query = { fields: 'display_phone_number,verified_name' };
  const said = phoneNumber.safeParse(await client.call('GET', id, { query, timeoutMs: introductionMs, signal }));
  if (!said.success) throw new CallError('an answer that is not what was asked for');
  return said.data;
}

/** undefined when Meta cannot be asked now. Rejects when it knows no such token or number. */
export async function introduce(client: GraphClient, id: string, health: Health, signal: AbortSignal): Promise<PhoneNumber | undefined> {
  try {
    return await phoneNumberOf(client, id, signal);
  } catch (error) {
    if (!(error instanceof CallError)) return undefined;
    if (error instanceof GraphError && isWrongCredential(error)) throw unusable(reasonOf(error));
    health.report('connection', reasonOf(error));
    return undefined;
  }
}

/** Nothing is connected while nobody speaks, so this asks now and then whether it would work. Ends with the signal, and never rejects. */
export async function keepWatch(client: GraphClient, id: string, health: Health, pace: Pace, signal: AbortSignal): Promise<void> {
  let failures = health.state.kind === 'down' ? 1 : 0;
  let refusals = 0;
  while (!signal.aborted) {
    const pauses = { firstMs: pace.firstPauseMs, maxMs: maxPauseMs, isSpread: true };
    const pauseMs = refusals > 0 ? backoffMs(refusals, refusedPauses) : failures > 0 ? backoffMs(failures, pauses) : pace.everyMs;
    await pause(pauseMs, signal);
    if (signal.aborted) return;
    try {
      await phoneNumberOf(client, id, signal);
      failures = 0;
      refusals = 0;
      health.report('connection', undefined);
    } catch (error) {
      if (signal.aborted) return;
      const known = error instanceof CallError ? error : new CallError('something unexpected');
      failures += 1;
      if (known.isPassing) refusals += 1;
      else refusals = 0;
      // An idle connection may have been closed; that alone is no failure.
      if (known.status !== undefined || failures > 1) health.report('connection', reasonOf(known));
    }
  }
}
