import type { IncomingMessage, Person } from '../core/channel.ts';
import type { InboxEntry } from '../core/conversation.ts';
import type { Role } from './access.ts';

/** Something that was said, and what whoever said it may do. */
export interface Heard {
  entry: InboxEntry;
  message: IncomingMessage;
  role: Role;
}

export interface RunningTurn {
  id: string;
  /** What it was begun with. */
  heard: readonly Heard[];
  since: Date;
  /** Of whoever it is for, the least. */
  role: Role;
  controller: AbortController;
  /** Whether what comes meanwhile can be handed to it. */
  takesSteering: boolean;
  /** The person it belongs to, and whether they are alone in the chat. */
  from: Person;
  isDirect: boolean;
  /** Messages that came meanwhile and are meant for it. In the inbox they wait until the agent takes them. */
  steering: Heard[];
  /** Those the agent has taken. */
  steered: Heard[];
  /** It was cut off by the end of the program, and is taken up by the next one. */
  isParked: boolean;
  over: Promise<void>;
}

/** The name under which a turn takes what came meanwhile: after so many inputs that were recorded of it. */
export function steeringTurn(turn: string, inputs: number): string {
  return `${turn}/steer/${inputs}`;
}

/**
 * Security: what was said has no more rights than its person has now, and had when a turn first began about it; a report, than they had when they
 * started the process. Words of others that an admin passes on have not the rights of the admin.
 */
export function roleIn({ incoming, role }: InboxEntry, now: Role): Role {
  const { report, forwarded } = incoming.kind === 'message' ? incoming : {};
  return role === 'user' || report?.role === 'user' || forwarded ? 'user' : now;
}

/** The last message of a person among them, if there is one. */
export function lastSaid(heard: readonly Heard[]): Heard | undefined {
  return heard.findLast(({ message }) => !message.report) ?? heard.at(-1);
}

/** Security: of several who spoke, nobody gets more rights than the one with the fewest. */
export function leastRole(heard: readonly Heard[]): Role {
  return heard.every(({ role }) => role === 'admin') ? 'admin' : 'user';
}

/** Where what waits belongs, while it is sorted. */
export interface Sorting {
  together: Heard[];
  reports: Heard[];
  /** The turn that ran when somebody last looked. */
  running: RunningTurn | undefined;
}

/** What was begun before and came to no end goes alone: if it is what ends the program, nothing else is blamed for it. */
export function firstOf(heard: readonly Heard[]): readonly Heard[] {
  const tried = heard.findIndex(({ entry }) => entry.tries > 0);
  return tried === -1 ? heard : heard.slice(0, Math.max(1, tried));
}
