import { type APIUser, Routes } from 'discord-api-types/v10';
import { CallError } from '../call-error.ts';
import type { Health } from '../health.ts';
import type { DiscordClient } from './client.ts';
import { reasonOf, tokenHint, unusable } from './failures.ts';

const introductionMs = 10_000;

/** Who we are; undefined when Discord cannot be asked now. Rejects when it knows no such bot. */
export async function introduce(client: DiscordClient, health: Health, signal: AbortSignal): Promise<APIUser | undefined> {
  try {
    return await client.call<APIUser>('GET', Routes.user(), { timeoutMs: introductionMs, signal });
  } catch (error) {
    if (!(error instanceof CallError)) return undefined;
    if (error.status === 401) throw unusable(reasonOf(error), tokenHint);
    health.report('connection', reasonOf(error));
    return undefined;
  }
}
