import type { App } from '../app/app.ts';
import { usableBackend } from '../app/status/sandbox-status.ts';
import type { Audience } from '../config/sandbox-settings.ts';
import { HermeticError } from '../core/errors.ts';
import type { Backend } from '../core/sandbox.ts';
import { sessionPartsText } from '../core/session.ts';
import { hermetic } from '../lib/own-command.ts';
import { printable } from '../lib/printable.ts';

/** A session that has talked, has a sandbox or waits for an answer. */
export interface KnownSession {
  parts: readonly string[];
  /** As people call it; several may have the same. */
  title: string;
  /** The parts in words, which no other session has. */
  id: string;
  audience: Audience;
  /** Of its sandboxes, where it has its own. */
  sandboxes: readonly string[];
}

const maxConversations = 10_000;
const maxListed = 12;

/** Other sandboxes are shared by sessions, or have none. */
const sessionKinds: ReadonlySet<string | undefined> = new Set(['session', 'cli', 'named']);

/** Conversations first, the most recently active at the front. */
export async function knownSessions(app: App): Promise<KnownSession[]> {
  const { conversations, sandboxes, approvals } = await app.store();
  const [talks, boxes, questions] = await Promise.all([
    conversations.list(maxConversations),
    sandboxes.list(),
    approvals.list({ state: 'open' }),
  ]);
  const own = boxes.filter(({ session }) => sessionKinds.has(session[0]));
  const named = new Map<string, { parts: readonly string[]; title: string }>();
  const add = (parts: readonly string[], title: string): void => {
    const key = JSON.stringify(parts);
    if (!named.has(key)) named.set(key, { parts, title });
  };
  for (const { parts, title } of talks) add(parts, title);
  for (const { parts, session } of questions) add(parts, session);
  for (const { session } of own) add(session, session[0] === 'session' ? sessionPartsText(session) : (session[1] ?? ''));
  return [...named].map(([key, { parts, title }]) => ({
    ...{ parts, title, id: sessionPartsText(parts), audience: parts[0] === 'cli' ? 'cli' : 'messaging' },
    sandboxes: own.filter(({ session }) => JSON.stringify(session) === key).map(({ name }) => name),
  }));
}

/** By its title, by its id, or by the name of its own sandbox. Throws when there is none, or more than one. */
export async function findSession(app: App, name: string): Promise<KnownSession> {
  const known = await knownSessions(app);
  const exact = known.filter(({ id, sandboxes }) => id === name || sandboxes.includes(name));
  const found = exact.length > 0 ? exact : known.filter(({ title }) => title === name || printable(title) === name);
  const [first, ...others] = found;
  if (first && others.length === 0) return first;
  if (first) {
    throw new HermeticError('usage/bad-argument', `There are ${found.length} sessions ${JSON.stringify(name)}.`, {
      hint: `Name one of them by its id: ${found.map(({ id }) => JSON.stringify(printable(id))).join(', ')}.`,
    });
  }
  throw new HermeticError('session/not-found', `There is no session ${JSON.stringify(name)}.`, { hint: listed(known) });
}

function listed(known: readonly KnownSession[]): string {
  if (known.length === 0) return 'There is no session yet. One is known as soon as it has talked or has a sandbox.';
  const names = known.slice(0, maxListed).map(sessionText);
  const more = known.length - names.length;
  return `The sessions are ${names.join(', ')}${more > 0 ? `, and ${more} more: ${hermetic} status, ${hermetic} sandbox list` : ''}.`;
}

/** Security: people choose titles. */
function sessionText({ title, id }: KnownSession): string {
  const [shown, plain] = [JSON.stringify(printable(title)), JSON.stringify(printable(id))];
  return shown === plain ? shown : `${shown} (${plain})`;
}

/** The backend that sessions like this one use now. Throws when none works. */
export async function backendFor(app: App, { audience }: KnownSession): Promise<Backend> {
  const { backend, unusable } = await usableBackend(app, audience);
  if (backend) return backend;
  const reasons = unusable.map(({ backend: kind, reason }) => `${kind}: ${reason}`).join('; ');
  throw new HermeticError('backend/unavailable', `No sandbox backend works here (${reasons}).`, { hint: `${hermetic} doctor` });
}
