import { hash } from 'node:crypto';
import type { TurnInput } from '../../core/agent.ts';
import type { CallOrigin } from '../../core/approval.ts';
import type { IncomingMessage } from '../../core/channel.ts';
import type { ChatSession } from '../session.ts';
import { incomingFiles } from './incoming-files.ts';
import { type AcceptedMessage, lastByPerson, minRole, type RunningTurn, steeringTurn } from './running-turn.ts';

/** A message as the agent reads it. Its files are in the sandbox when it resolves. */
export async function inputOf({ channel, tools }: ChatSession, message: IncomingMessage): Promise<TurnInput> {
  const { text, from, quoted, forwarded, files, report, isDirect, place } = message;
  if (report) return { text, from: undefined, report };
  // Security: people in a group may take each other's names. The platform's own number of a person is no business of a model.
  const person = isDirect ? undefined : hash('sha256', JSON.stringify([place.platform, from.id])).slice(0, 8);
  return { text, from: from.name, person, quoted, forwarded, ...(files.length > 0 && (await incomingFiles(files, channel, tools))) };
}

/** The person on whose behalf tools are called, and how to ask them. */
export function originOf(
  { place, deps }: ChatSession,
  messages: readonly AcceptedMessage[],
  steered: readonly AcceptedMessage[] = [],
): CallOrigin {
  const nameOf = (one: AcceptedMessage | undefined): string => `${place.platform}:${one?.message.from.id}`;
  const last = lastByPerson(messages);
  const person = nameOf(last);
  const others = [...new Set([...messages, ...steered].map(nameOf))].filter((one) => one !== person);
  const { from, isDirect = false } = last?.message ?? {};
  const approver = deps.approvals.approver({ person, name: from?.name ?? person, isDirect }, place);
  return { source: 'chat', role: minRole([...messages, ...steered]), approver, person, others };
}

/**
 * Takes the messages that came meanwhile and are meant for this turn, which has so many inputs. They are taken under a name that tells the next
 * program whether they were recorded.
 */
export function steeringInput(session: ChatSession, turn: RunningTurn, inputs: number): () => Promise<readonly TurnInput[]> {
  let count = inputs;
  return async () => {
    const came = turn.steering.splice(0);
    if (came.length === 0) return [];
    const seqs = came.map(({ entry }) => entry.seq);
    const taken = new Set(await session.deps.store.inbox.begin(seqs, steeringTurn(turn.id, count), minRole(came)));
    const ours = came.filter(({ entry }) => taken.has(entry.seq));
    turn.steered.push(...ours);
    if (ours.length > 0) count += 1;
    return await Promise.all(ours.map(({ message }) => inputOf(session, message)));
  };
}
