import { dayOf } from '../../agent/prompt.ts';
import type { TurnFacts } from '../../core/agent.ts';
import type { SessionEntry } from '../../core/conversation.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import type { ChatSession } from '../session.ts';
import type { RunningTurn } from './running-turn.ts';

/** Kept with the conversation. */
interface Told {
  facts: TurnFacts;
  /** The last day that the model was told. */
  day: string;
}

export interface FactsOfTurn {
  facts: TurnFacts;
  /** When the model has been told of another day. */
  newDay: string | undefined;
  /** To be called once the model was told of the new day. */
  dayIsTold(): Promise<void>;
}

/**
 * What the model is told of its surroundings, as it was when the conversation began: with every other text its provider would read the whole
 * conversation anew. Only when the settings have changed since, the facts of now take its place.
 */
export async function factsOf(session: ChatSession, turn: RunningTurn, { parts, epoch, facts: kept }: SessionEntry): Promise<FactsOfTurn> {
  const { conversations } = session.deps.store;
  const now = await factsNow(session, turn);
  const today = dayOf(now);
  const told = toldIn(kept);
  if (told && isAsTold(told.facts, now)) {
    const newDay = told.day === today ? undefined : today;
    return { facts: told.facts, newDay, dayIsTold: () => conversations.keepFacts(parts, epoch, { ...told, day: today }) };
  }
  await conversations.keepFacts(parts, epoch, { facts: now, day: today } satisfies Told);
  return { facts: now, newDay: undefined, dayIsTold: async () => undefined };
}

async function factsNow({ deps, tools, place, title, channel }: ChatSession, { isDirect }: RunningTurn): Promise<TurnFacts> {
  return {
    name: deps.settings.agentName,
    sandbox: await tools.facts(),
    chat: { platform: place.platform, isDirect, title, markdown: true, files: channel.traits.maxFileBytes > 0 },
    now: new Date(),
  };
}

function toldIn(kept: unknown): Told | undefined {
  if (kept === undefined) return undefined;
  const { facts, day } = kept as Told;
  return { facts: { ...facts, now: new Date(facts.now) }, day };
}

/** Names of chats change, and a backend that does not answer for a moment is the same backend: results of tools say so. */
function isAsTold(told: TurnFacts, now: TurnFacts): boolean {
  return lasting(told) === lasting({ ...now, sandbox: now.sandbox ?? told.sandbox });
}

function lasting({ now: _now, chat: { title: _title, topic: _topic, ...chat }, ...facts }: TurnFacts): string {
  return canonicalJson(JSON.parse(JSON.stringify({ ...facts, chat })));
}
