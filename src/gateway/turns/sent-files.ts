import { randomUUID } from 'node:crypto';
import { maxCarriedBytes, type OutgoingFile } from '../../core/channel.ts';
import { HermeticError } from '../../core/errors.ts';
import type { ChatSession } from '../session.ts';

/** How long a call waits until the platform has taken its file. */
const sendMs = 20_000;

/** The largest file that the chat of the session takes; 0 when it takes none. */
export function maxFileBytes({ place, channel, deps }: ChatSession): number {
  const { maxFileBytes: most } = deps.outbox.traits(place) ?? channel.traits;
  return Math.min(most, maxCarriedBytes);
}

/** Resolves with whether it was sent by now, or waits for its platform. Rejects when the platform does not take it. */
export async function sendFile(
  { id, place, deps }: ChatSession,
  file: OutgoingFile,
  caption: string | undefined,
  signal: AbortSignal,
): Promise<'sent' | 'waiting'> {
  const key = `file/${randomUUID()}`;
  await deps.outbox.deliver(place, key, caption ?? file.name, { file, session: id.parts });
  const outcome = await deps.outbox.outcome(key, AbortSignal.any([signal, AbortSignal.timeout(sendMs)]));
  if (outcome.kind !== 'dropped') return outcome.kind;
  throw new HermeticError('tool/failed', `It was not sent: ${outcome.failure}`, { hint: 'The person was told so.' });
}
