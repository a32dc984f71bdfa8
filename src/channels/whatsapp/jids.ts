import type { Place } from '../../core/channel.ts';
import { HermeticError } from '../../core/errors.ts';

const person = /^(\d{1,20})(?:[_.]\d{1,5})?(?::\d{1,5})?@(s\.whatsapp\.net|c\.us|hosted|lid|hosted\.lid)$/;
const group = /^\d{1,30}(?:-\d{1,20})?@g\.us$/;
const lidPrefix = 'lid:';

/** A person’s address, without their device. `isLid`: its digits are not those of a phone number. */
export interface User {
  user: string;
  isLid: boolean;
}

/** undefined for everything that is not one person. */
export function userOf(jid: unknown): User | undefined {
  const [, user, server] = typeof jid === 'string' ? (person.exec(jid) ?? []) : [];
  return user === undefined ? undefined : { user, isLid: server === 'lid' || server === 'hosted.lid' };
}

export function isGroup(jid: unknown): jid is string {
  return typeof jid === 'string' && group.test(jid);
}

/** What a person is called in places, sessions and access rules. */
export function personId({ user, isLid }: User): string {
  return isLid ? lidPrefix + user : user;
}

/** Security: the chat of a place becomes an address. */
export function addressOf({ chat, thread }: Place): string {
  const isLid = chat.startsWith(lidPrefix);
  const digits = isLid ? chat.slice(lidPrefix.length) : chat;
  if (thread === undefined && isGroup(chat)) return chat;
  if (thread !== undefined || !/^\d{1,20}$/.test(digits)) throw new HermeticError('channel/refused', 'This is not a chat of WhatsApp.');
  return `${digits}@${isLid ? 'lid' : 's.whatsapp.net'}`;
}
