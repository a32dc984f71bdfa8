import { HermeticError } from '../../core/errors.ts';
import { CallError, channelErrorOf } from '../call-error.ts';

/** Why WhatsApp ended a connection, by its number. */
export const statuses = { loggedOut: 401, forbidden: 403, outdated: 405, timedOut: 408, replaced: 440, restart: 515 } as const;

/** After these it makes no sense to come back at once. */
export const refusals: ReadonlyMap<number, string> = new Map([
  [statuses.forbidden, 'WhatsApp refuses this account (403). It may be blocked.'],
  [statuses.outdated, 'WhatsApp no longer speaks with this version of Baileys (405).'],
  [411, 'WhatsApp refuses this account (411).'],
  [419, 'WhatsApp refuses this account (419).'],
  [statuses.replaced, 'Another program took over this connection to WhatsApp (440).'],
]);

/** The number in an error of Baileys. Security: nothing else of it is kept. */
export function statusOf(error: unknown): number | undefined {
  const status = (error as { output?: { statusCode?: unknown } } | undefined)?.output?.statusCode;
  return typeof status === 'number' ? status : undefined;
}

const reasonOf = ({ status, message }: CallError): string =>
  status === undefined ? `WhatsApp: ${message}.` : `WhatsApp: ${message} (${status}).`;

export function failureOf(error: unknown, mayRepeat: boolean): unknown {
  if (!(error instanceof CallError)) return error;
  return channelErrorOf(error, reasonOf(error), { mayRepeat });
}

export function busy(reason: string): HermeticError {
  return new HermeticError('channel/busy', reason);
}

export function refused(reason: string): HermeticError {
  return new HermeticError('channel/refused', reason);
}
