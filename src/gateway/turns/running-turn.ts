import type { IncomingMessage, Person } from '../../core/channel.ts';
import type { InboxEntry } from '../../core/conversation.ts';
import type { Role } from '../access.ts';

/** A message of the inbox from a person who may talk. */
export interface AcceptedMessage {
  entry: InboxEntry;
  message: IncomingMessage;
  role: Role;
}

export interface RunningTurn {
  id: string;
  /** The messages it began with. */
  messages: readonly AcceptedMessage[];
  since: Date;
  /** undefined unless the model has been asked and has said nothing yet. */
  modelAskedAt: Date | undefined;
  /** The role of the person with the fewest rights. */
  role: Role;
  controller: AbortController;
  /** Whether messages that come meanwhile can be handed to it. */
  takesSteering: boolean;
  /** The person it belongs to, and whether they are alone in the chat. */
  from: Person;
  isDirect: boolean;
  /** Messages that came meanwhile and are meant for it. In the inbox they wait until the agent takes them. */
  steering: AcceptedMessage[];
  /** Those the agent has taken. */
  steered: AcceptedMessage[];
  /** It was cut off by the end of the program; the next program resumes it. */
  isParked: boolean;
  over: Promise<void>;
}

/** The name under which a turn takes messages that came meanwhile: after so many inputs that were recorded of it. */
export function steeringTurn(turn: string, inputs: number): string {
  return `${turn}/steer/${inputs}`;
}

/** The outbox key of an answer of the model in a turn, whichever program sends it. The first is 0. */
export function answerKey(turn: string, answer: number): string {
  return `turn/${turn}/${answer}`;
}

/** The outbox key of the message that says why a turn ends without an answer. */
export function endKey(turn: string): string {
  return `turn/${turn}/end`;
}

/**
 * Security: a message has no more rights than its person has now, and had when a turn first began about it; a report, than they had when they
 * started the process. Forwarded words of others do not have the rights of the admin who forwards them.
 */
export function roleIn({ incoming, role }: InboxEntry, now: Role): Role {
  const { report, forwarded } = incoming.kind === 'message' ? incoming : {};
  return role === 'user' || report?.role === 'user' || forwarded ? 'user' : now;
}

/** The last message of a person among them, if there is one. */
export function lastByPerson(messages: readonly AcceptedMessage[]): AcceptedMessage | undefined {
  return messages.findLast(({ message }) => !message.report) ?? messages.at(-1);
}

/** Security: a turn of several people has the rights of the one with the fewest. */
export function minRole(messages: readonly AcceptedMessage[]): Role {
  return messages.every(({ role }) => role === 'admin') ? 'admin' : 'user';
}

/** A message that was tried before and not finished goes alone: if it ends the program, no other is blamed for it. */
export function firstBatch(messages: readonly AcceptedMessage[]): readonly AcceptedMessage[] {
  const tried = messages.findIndex(({ entry }) => entry.tries > 0);
  return tried === -1 ? messages : messages.slice(0, Math.max(1, tried));
}
