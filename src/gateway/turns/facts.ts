import { toldDay } from '../../agent/messages.ts';
import { dayOf } from '../../agent/prompt.ts';
import type { TurnFacts } from '../../core/agent.ts';
import type { SessionEntry } from '../../core/conversation.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import type { ChatSession } from '../session.ts';
import type { RunningTurn } from './running-turn.ts';

export interface FactsOfTurn {
  facts: TurnFacts;
  /** When it is another day than the model knows of. */
  newDay: string | undefined;
}

/**
 * What the model is told of its surroundings, as it was when the conversation began: with every other text its provider would read the whole
 * conversation anew. Only when the settings have changed since, the facts of now take its place.
 */
export async function factsOf(
  session: ChatSession,
  turn: RunningTurn,
  { entry, messages }: { entry: SessionEntry; messages: readonly unknown[] },
): Promise<FactsOfTurn> {
  const { conversations } = session.deps.store;
  const told = toldIn(entry.facts);
  const now = await factsNow(session, turn, told);
  const isAsTold = told !== undefined && lasting(told) === lasting(now);
  const facts = isAsTold ? told : { ...now, now: told?.now ?? entry.startedAt };
  if (!isAsTold) await conversations.keepFacts(entry.parts, entry.epoch, facts);
  const today = dayOf(now);
  const isKnown = today === (toldDay(messages) ?? dayOf(facts));
  return { facts, newDay: isKnown ? undefined : today };
}

async function factsNow(
  { deps, tools, place, title, channel }: ChatSession,
  { isDirect }: RunningTurn,
  told: TurnFacts | undefined,
): Promise<TurnFacts> {
  return {
    name: deps.settings.agentName,
    // A backend that does not answer for a moment is the same backend: results of tools say so.
    sandbox: (await tools.facts()) ?? told?.sandbox,
    chat: { platform: place.platform, isDirect, title, markdown: true, files: channel.traits.maxFileBytes > 0 },
    now: new Date(),
  };
}

function toldIn(kept: unknown): TurnFacts | undefined {
  if (kept === undefined) return undefined;
  const facts = kept as TurnFacts;
  return { ...facts, now: new Date(facts.now) };
}

/** Without the names of chats, which change. */
function lasting({ now: _now, chat: { title: _title, topic: _topic, ...chat }, ...facts }: TurnFacts): string {
  return canonicalJson(JSON.parse(JSON.stringify({ ...facts, chat })));
}
