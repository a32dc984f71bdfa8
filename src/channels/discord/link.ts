import { type APIGatewayBotInfo, type GatewayDispatchPayload, type GatewayReadyDispatchData, Routes } from 'discord-api-types/v10';
import { backoffMs } from '../../lib/backoff.ts';
import { pause } from '../../lib/pause.ts';
import { CallError } from '../call-error.ts';
import type { Health } from '../health.ts';
import type { DiscordClient } from './client.ts';
import { reasonOf } from './failures.ts';
import { type Session, serveWire } from './wire.ts';

export interface LinkParts {
  client: DiscordClient;
  token: string;
  health: Health;
  /** A new session: what happened before it is not delivered. */
  onReady(ready: GatewayReadyDispatchData): void;
  /** Everything that happened since the session was left was delivered. */
  onResumed(): void;
  /** Returns whether it was taken. */
  onEvent(event: GatewayDispatchPayload): boolean;
  /** Resolves when events are taken again. */
  room(): Promise<void>;
  /** The first try has succeeded or failed. */
  onTried(): void;
}

/** A connection that ends earlier counts as a failure, so that one that always ends is not replaced again and again without a pause. */
const steadyMs = 10_000;
const pauses = { firstMs: 250, maxMs: 60_000, isSpread: true };
/** Discord takes a thousand new sessions a day, and changes the token of a bot that begins more. */
const refusedPauses = { firstMs: 5_000, maxMs: 300_000 };

const reasons: ReadonlyMap<number, string> = new Map([
  [4004, 'Discord refuses the token (4004). It was changed or revoked.'],
  [4010, 'Discord refuses the connection (4010).'],
  [4011, 'The bot is in too many servers for one connection (4011).'],
  [4012, 'Discord no longer speaks this version of its gateway (4012).'],
  [4013, 'Discord refuses the connection (4013).'],
  [4014, 'The bot may not read messages (4014): switch on "Message Content Intent" on the page Bot of the application.'],
]);

/** Keeps a connection to Discord's gateway until the signal. Never rejects. */
export async function keepLink(parts: LinkParts, signal: AbortSignal): Promise<void> {
  const { client, token, health } = parts;
  let session: Session | undefined;
  let failures = 0;
  let refusals = 0;
  let upSince: number | undefined;
  const isUp = (): void => {
    upSince = performance.now();
    health.report('connection', undefined);
    parts.onTried();
  };
  while (!signal.aborted) {
    const pauseMs = refusals > 0 ? backoffMs(refusals, refusedPauses) : failures > 0 ? backoffMs(failures, pauses) : 0;
    await pause(pauseMs, signal);
    if (signal.aborted) return;
    failures += 1;
    if (failures > 1) parts.onTried();
    const address = session?.address ?? (await findGateway(client, health, signal));
    if (address === undefined) continue;
    const onReady = (ready: GatewayReadyDispatchData): void => {
      isUp();
      parts.onReady(ready);
    };
    const onResumed = (): void => {
      isUp();
      parts.onResumed();
    };
    upSince = undefined;
    const ending = await serveWire({ token, address, session, signal, onReady, onResumed, onEvent: parts.onEvent });
    if (signal.aborted) return;
    session = ending.session;
    if (ending.isFull) {
      await parts.room();
      failures = 0;
      continue;
    }
    if (lastedLong(upSince)) {
      failures = 0;
      refusals = 0;
    }
    const refusal = ending.code === undefined ? undefined : reasons.get(ending.code);
    if (refusal !== undefined) refusals += 1;
    // A connection that ends once is replaced at once; that alone is no failure.
    if (refusal !== undefined || failures > 1) health.report('connection', refusal ?? 'Discord: no connection to its gateway.');
  }
}

function lastedLong(since: number | undefined): boolean {
  return since !== undefined && performance.now() - since >= steadyMs;
}

/** undefined when Discord does not say. */
async function findGateway(client: DiscordClient, health: Health, signal: AbortSignal): Promise<string | undefined> {
  try {
    const { url, session_start_limit: limit } = await client.call<APIGatewayBotInfo>('GET', Routes.gatewayBot(), { signal });
    if (limit.remaining > 0) return url;
    health.report('connection', 'Discord: the bot began too many sessions today.');
    await pause(limit.reset_after, signal);
  } catch (error) {
    if (error instanceof CallError) {
      health.report('connection', reasonOf(error));
      await pause(error.retryAfterMs ?? 0, signal);
    }
  }
  return undefined;
}
