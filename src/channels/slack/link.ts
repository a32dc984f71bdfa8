import { backoffMs } from '../../lib/backoff.ts';
import { pause } from '../../lib/pause.ts';
import { CallError } from '../call-error.ts';
import type { Health } from '../health.ts';
import type { SlackClient } from './client.ts';
import { isTokenRefused, reasonOf } from './failures.ts';
import { type Envelope, Wire } from './wire.ts';
import type { Workspaces } from './workspaces.ts';

export interface LinkParts {
  /** With the token of the app, not of a bot. */
  app: SlackClient;
  workspaces: Workspaces;
  health: Health;
  /** There is a connection. `wasDeaf`: for a while there was none. */
  onConnected(wasDeaf: boolean): void;
  onEnvelope(envelope: Envelope): void;
  /** The first try has succeeded or failed. */
  onTried(): void;
  /** Where to connect first. */
  firstAddress: string | undefined;
}

const pauses = { firstMs: 250, maxMs: 60_000, isSpread: true };
const refusedPauses = { firstMs: 5_000, maxMs: 300_000 };
/** A connection that is over sooner counts as a failure. */
const soundMs = 5_000;

export const appTokenName = 'app token';
const disabled = 'Slack: Socket Mode is switched off. Switch it on at the page Socket Mode of your app at api.slack.com/apps.';
const lost = 'Slack: no connection to its Socket Mode.';

/** Keeps a connection to Slack until the signal; opens the next one before the last one ends, where Slack says that in time. Never rejects. */
export async function keepLink(parts: LinkParts, signal: AbortSignal): Promise<void> {
  const { health } = parts;
  const wires = new Set<Promise<unknown>>();
  let address = parts.firstAddress;
  let previous: Wire | undefined;
  let failures = 0;
  let refusals = 0;
  while (!signal.aborted) {
    await pause(refusals > 0 ? backoffMs(refusals, refusedPauses) : failures > 0 ? backoffMs(failures, pauses) : 0, signal);
    if (signal.aborted) break;
    failures += 1;
    if (failures > 1) parts.onTried();
    const found: string | CallError = address ?? (await findAddress(parts, signal));
    address = undefined;
    if (typeof found !== 'string') {
      refusals = isTokenRefused(found) ? refusals + 1 : 0;
      await pause(found.retryAfterMs ?? 0, signal);
      continue;
    }
    let upAt: number | undefined;
    const wire: Wire = new Wire({
      address: found,
      signal,
      onEnvelope: parts.onEnvelope,
      onHello: () => {
        const wasDeaf = !previous?.isOpen;
        upAt ??= Date.now();
        refusals = 0;
        health.report('connection', undefined);
        parts.onTried();
        parts.onConnected(wasDeaf);
        previous?.retire();
        previous = undefined;
      },
    });
    const ended = wire.closed.finally(() => wires.delete(ended));
    wires.add(ended);
    const outcome = await wire.outcome;
    if (signal.aborted) break;
    if (upAt !== undefined && Date.now() - upAt >= soundMs) failures = 0;
    if (outcome === 'leaving') previous = wire;
    if (outcome === 'disabled') {
      refusals += 1;
      wire.retire();
      health.report('connection', disabled);
    }
    // A connection that ends once is replaced at once; that alone is no failure.
    else if (outcome === 'ended' && failures > 1) health.report('connection', lost);
  }
  await Promise.all(wires);
}

/** Where to connect. */
export async function openConnection(app: SlackClient, signal: AbortSignal): Promise<string> {
  const { url } = await app.call<{ url?: unknown }>('apps.connections.open', {}, { signal });
  if (typeof url !== 'string' || !app.isSocketAddress(url)) throw new CallError('an address that is not one of Slack');
  return url;
}

async function findAddress({ app, workspaces, health }: LinkParts, signal: AbortSignal): Promise<string | CallError> {
  try {
    const failure = await workspaces.introduce(signal).catch(() => undefined);
    if (failure) throw failure;
    return await openConnection(app, signal);
  } catch (error) {
    const failure = error instanceof CallError ? error : new CallError('no connection');
    if (!signal.aborted) health.report('connection', reasonOf(failure, appTokenName));
    return failure;
  }
}
