import { refused } from './failures.ts';

export const teamId = /^[TE][A-Z0-9]{1,30}$/;
export const userId = /^[UW][A-Z0-9]{1,30}$/;
export const channelId = /^[CDG][A-Z0-9]{1,30}$/;
export const fileId = /^F[A-Z0-9]{1,30}$/;
/** The time of a message, and its id in a channel. */
export const messageId = /^\d{1,12}\.\d{6}$/;

export function isId(id: unknown, form: RegExp): id is string {
  return typeof id === 'string' && form.test(id);
}

/** Throws what makes a delivery unreadable. */
export function checkedId(name: string, id: unknown, form: RegExp): string {
  if (!isId(id, form)) throw new Error(`${name} is not an id of Slack.`);
  return id;
}

/** Of what is to be said somewhere. */
export function givenId(id: unknown, form: RegExp): string {
  if (!isId(id, form)) throw refused('This is not an id of Slack.');
  return id;
}

/**
 * A person as a workspace knows them. Security: an id of one workspace says nothing in another, so the workspace is always part of it, also when
 * there is only one.
 */
export function personId(team: string, user: string): string {
  return `${team}/${user}`;
}

export function isPersonId(id: string): boolean {
  const [team, user, ...more] = id.split('/');
  return isId(team, teamId) && isId(user, userId) && more.length === 0;
}

export function userOf(person: string): string {
  return givenId(person.split('/')[1], userId);
}

/** Grows with time, in all channels. */
export function microseconds(id: string): bigint {
  return BigInt(id.replace('.', ''));
}

/** Of a message that is said at this time, in milliseconds. */
export function microsecondsAt(time: number): bigint {
  return BigInt(Math.max(0, time)) * 1000n;
}

export function messageIdAt(micros: bigint): string {
  const text = String(micros).padStart(7, '0');
  return `${text.slice(0, -6)}.${text.slice(-6)}`;
}
