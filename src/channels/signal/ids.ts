import type { Place } from '../../core/channel.ts';

const uuidForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const groupPrefix = 'group:';

/** The id of a person's account, which stays when their number changes. undefined for anything else. */
export function accountId(value: unknown): string | undefined {
  const id = typeof value === 'string' ? value.toLowerCase() : '';
  return uuidForm.test(id) ? id : undefined;
}

export function isPhoneNumber(text: string): boolean {
  return /^\+[1-9]\d{4,14}$/.test(text);
}

/** The name of a group's chat. Throws when this is not the id of a group. */
export function groupChat(id: unknown): string {
  if (typeof id !== 'string' || !/^[A-Za-z0-9+/]{1,200}={0,2}$/.test(id)) throw new Error('groupId is not the id of a group.');
  return groupPrefix + id;
}

export function placeOf(chat: string): Place {
  return { platform: 'signal', workspace: undefined, chat, thread: undefined };
}

export type Target = { recipient: [string] } | { groupId: string };

/** As methods of the daemon name a chat; undefined for a place that is none of Signal. */
export function targetOf({ chat }: Place): Target | undefined {
  const person = accountId(chat);
  if (person !== undefined) return { recipient: [person] };
  const group = /^group:([A-Za-z0-9+/]{1,200}={0,2})$/.exec(chat)?.[1];
  return group === undefined ? undefined : { groupId: group };
}

/** Signal names a message by its author and the time at which they say it was sent. */
export function messageId(author: string, timestamp: number): string {
  return `${author}:${timestamp}`;
}

/** `author` is undefined for one of ours. */
export function messageNamed(id: string): { author: string | undefined; timestamp: number } | undefined {
  const [, author, time = ''] = /^(?:([0-9a-f-]{36}):)?(\d{1,15})$/.exec(id) ?? [];
  if (time === '' || (author !== undefined && accountId(author) === undefined)) return undefined;
  return { author, timestamp: Number(time) };
}
