import type * as z from 'zod';
import { hermetic } from '../../lib/own-command.ts';
import { flag, listOf, markRestart, notes, text } from '../../lib/setting-kinds.ts';
import { platformOptions } from '../driver.ts';
import { accountId, isPhoneNumber } from './ids.ts';

/** Where signal-cli listens when nothing else is said. */
export const defaultRoot = 'http://127.0.0.1:8080';

export const signalOptions = platformOptions(
  'Signal',
  {},
  {
    allowed_users: people('Who may talk without pairing, by account id. Empty is no one.'),
    admins: people('Who may talk and also answer for others, let people in and choose the model; by account id.'),
    account: account().optional().describe('The account that signal-cli has: its phone number.'),
    socket: socketPath().optional().describe('Talks to signal-cli over this Unix socket instead of api_root.'),
    note_to_self: flag().default(false).describe('Listens to what the owner of the account writes in Note to Self, and to nothing else.'),
  },
);
markRestart(signalOptions as z.ZodObject, 'account', 'socket', 'note_to_self');

/** Whether signal-cli can have an account of this name. A new account may have no number. */
export function isAccount(value: string): boolean {
  return isPhoneNumber(value) || accountId(value) === value;
}

function account() {
  return text().refine(isAccount).register(notes, { expects: 'a phone number with its country code, as text in quotes: "+15551234567"' });
}

function socketPath() {
  return text()
    .refine((path) => path.startsWith('/'))
    .register(notes, { expects: 'the path of a socket, from / on' });
}

/** Security: a number may be hidden, and may belong to somebody else tomorrow, so nobody is let in by one. */
function people(description: string) {
  const person = text()
    .refine((value) => accountId(value) === value)
    .register(notes, { expects: `an account id in quotes, as ${hermetic} pairing list shows it` });
  return listOf(person, `account ids in quotes, as ${hermetic} pairing list shows them`).default([]).describe(description);
}
