import type { Transaction } from 'kysely';
import type { Place } from '../core/channel.ts';
import type { ConversationLedger, SessionEntry, Sync, TranscriptEntry, Usage } from '../core/conversation.ts';
import type { Access } from './access.ts';
import {
  activity,
  addition,
  consumption,
  countAndRest,
  factsOfEpoch,
  presentRow,
  removalOfTurn,
  type SessionRow,
  sessionRow,
} from './conversation-statements.ts';
import { rememberNumbers } from './counter.ts';
import { placeJson, placeOf, readJson } from './json-columns.ts';
import { removeOld } from './remove-old.ts';
import { removeOldTurns } from './remove-old-turns.ts';
import type { Tables } from './schema.ts';
import type { Statements } from './statement.ts';
import { type KnownTranscript, TranscriptCache } from './transcript-cache.ts';

export class SqlConversationLedger implements ConversationLedger {
  readonly #access: Access;
  readonly #transcripts = new TranscriptCache();

  constructor(access: Access) {
    this.#access = access;
  }

  async session(parts: readonly string[], about: { title: string; place: Place }, at: Date): Promise<SessionEntry> {
    const known = await this.find(parts);
    if (known) return known;
    const time = at.getTime();
    return await this.#access.transaction(async (db) => {
      await db
        .insertInto('sessions')
        .values({
          session: JSON.stringify(parts),
          title: JSON.stringify(about.title),
          place: placeJson(about.place),
          epoch: 1,
          started_at: time,
          last_active_at: time,
          choices: '{}',
          input_tokens: 0,
          output_tokens: 0,
          cached_tokens: 0,
          cost: null,
          facts: null,
          undelivered: null,
        })
        .onConflict((conflict) => conflict.column('session').doNothing())
        .execute();
      return entryOf(await rowOf(db, parts));
    }, 'later');
  }

  async find(parts: readonly string[]): Promise<SessionEntry | undefined> {
    const row = await this.#access.prepared.read((statements) => statements.first(sessionRow, { session: JSON.stringify(parts) }));
    return row && entryOf(row);
  }

  async list(limit: number): Promise<SessionEntry[]> {
    const rows = await this.#access.read((db) =>
      db.selectFrom('sessions').selectAll().orderBy('last_active_at', 'desc').orderBy('session').limit(limit).execute(),
    );
    return rows.map(entryOf);
  }

  async active(parts: readonly string[], at: Date): Promise<void> {
    const given = { session: JSON.stringify(parts), at: at.getTime() };
    await this.#access.prepared.run((statements) => refuseMissing(statements.run(activity, given), parts), 'later');
  }

  async choose(parts: readonly string[], name: string, value: unknown): Promise<void> {
    await this.#change(parts, (row) => {
      // As entries: a choice may have any name, also one that objects have a meaning for.
      const choices = new Map<string, unknown>(Object.entries(readJson(row.choices)));
      if (value === undefined) choices.delete(name);
      else choices.set(name, value);
      return { choices: JSON.stringify(Object.fromEntries(choices)) };
    });
  }

  async keepFacts(parts: readonly string[], epoch: number, facts: unknown): Promise<void> {
    const given = { session: JSON.stringify(parts), epoch, facts: jsonOf(facts) };
    await this.#access.prepared.run((statements) => statements.run(factsOfEpoch, given), 'later');
  }

  async toldUndelivered(parts: readonly string[], told: string): Promise<void> {
    await this.#access.run(
      (db) =>
        db
          .updateTable('sessions')
          .set({ undelivered: null })
          .where('session', '=', JSON.stringify(parts))
          .where('undelivered', '=', told)
          .execute(),
      'later',
    );
  }

  async reset(parts: readonly string[], at: Date): Promise<void> {
    await this.#change(parts, (row) => ({ epoch: Number(row.epoch) + 1, started_at: at.getTime(), choices: '{}', facts: null }));
  }

  async addUsage(parts: readonly string[], usage: Usage): Promise<void> {
    await this.#access.prepared.run((statements) => addUsage(statements, parts, usage), 'later');
  }

  async append(
    parts: readonly string[],
    turn: string,
    messages: readonly unknown[],
    at: Date,
    { sync, usage }: { sync?: Sync; usage?: Usage | undefined } = {},
  ): Promise<void> {
    const common = { session: JSON.stringify(parts), turn: JSON.stringify(turn), at: at.getTime() };
    // One statement is a transaction of its own.
    const together = messages.length === 1 && usage === undefined ? 'run' : 'transaction';
    await this.#access.prepared[together]((statements) => {
      if (messages.length === 0) refuseMissing(statements.all(sessionRow, common).length, parts);
      for (const message of messages) refuseMissing(statements.run(addition, { ...common, message: jsonOf(message) }), parts);
      if (usage) addUsage(statements, parts, usage);
    }, sync);
  }

  async read(parts: readonly string[]): Promise<TranscriptEntry[]> {
    return await this.#access.transaction(async (db) => {
      const { summary, rest } = await presentOf(db, parts);
      const rows = await rest.select(['seq', 'turn', 'at', 'message']).execute();
      return (summary ? [summary, ...rows] : rows).map((row) => ({
        seq: Number(row.seq),
        turn: readJson(row.turn),
        at: new Date(Number(row.at)),
        message: readJson(row.message),
      }));
    }, 'later');
  }

  async present(parts: readonly string[]): Promise<{ entry: SessionEntry; messages: unknown[] }> {
    const session = JSON.stringify(parts);
    return await this.#access.prepared.read((statements) => {
      const row = statements.first(presentRow, { session });
      if (!row) throw noConversation(parts);
      const epoch = Number(row.epoch);
      const from = Number(row.up_to ?? 0);
      const after = (known: KnownTranscript | undefined): { transcript: KnownTranscript; isWhole: boolean } => {
        // Both at once: what comes in between would be counted, and not be there.
        const [count, ...rows] = statements.all(countAndRest, { session, epoch, from, last: known?.last ?? from });
        // One statement takes half as long as one for each message.
        const text = rows.map(({ message }) => message).join(',');
        const messages = [...(known?.messages ?? []), ...readJson(`[${text}]`)];
        const last = Number(rows.at(-1)?.seq ?? known?.last ?? from);
        const transcript = { epoch, from, last, messages, characters: (known?.characters ?? 0) + text.length };
        return { transcript, isWhole: messages.length === Number(count?.message) };
      };
      const added = after(this.#transcripts.find(session, epoch, from));
      // Messages that were cached have been removed.
      const { transcript } = added.isWhole ? added : after(undefined);
      this.#transcripts.keep(session, transcript);
      const entry = entryOf(row);
      return { entry, messages: row.summary === null ? [...transcript.messages] : [readJson(row.summary), ...transcript.messages] };
    });
  }

  async readTurn(parts: readonly string[], turn: string): Promise<unknown[]> {
    const rows = await this.#access.read((db) =>
      db
        .selectFrom('transcript')
        .innerJoin('sessions', (join) =>
          join.onRef('sessions.session', '=', 'transcript.session').onRef('sessions.epoch', '=', 'transcript.epoch'),
        )
        .select('transcript.message')
        .where('transcript.session', '=', JSON.stringify(parts))
        .where('transcript.turn', '=', JSON.stringify(turn))
        .orderBy('transcript.seq')
        .execute(),
    );
    return rows.map(({ message }) => readJson(message));
  }

  async forgetTurn(parts: readonly string[], turn: string): Promise<void> {
    const given = { session: JSON.stringify(parts), turn: JSON.stringify(turn) };
    await this.#access.prepared.transaction((statements) => {
      rememberNumbers(statements, 'transcript');
      statements.run(removalOfTurn, given);
    });
  }

  async summarise(parts: readonly string[], upTo: number, summary: unknown, at: Date): Promise<boolean> {
    const session = JSON.stringify(parts);
    return await this.#access.transaction(async (db) => {
      const epoch = Number((await rowOf(db, parts)).epoch);
      const last = await db
        .selectFrom('transcript')
        .select('turn')
        .where('session', '=', session)
        .where('epoch', '=', epoch)
        .where('seq', '=', upTo)
        .executeTakeFirst();
      const present = await db
        .selectFrom('summaries')
        .select('up_to')
        .where('session', '=', session)
        .where('epoch', '=', epoch)
        .executeTakeFirst();
      if (!last || (present && Number(present.up_to) >= upTo)) return false;
      const changed = { up_to: upTo, turn: last.turn, at: at.getTime(), message: jsonOf(summary) };
      await db
        .insertInto('summaries')
        .values({ session, epoch, ...changed })
        .onConflict((conflict) => conflict.columns(['session', 'epoch']).doUpdateSet(changed))
        .execute();
      return true;
    });
  }

  async prune(before: Date, signal?: AbortSignal): Promise<void> {
    await removeOldTurns(this.#access, before, signal);
    await removeOld(this.#access, { table: 'summaries', age: { column: 'at', before } }, signal);
  }

  async #change(parts: readonly string[], change: (row: SessionRow) => Partial<SessionChanges>, sync?: Sync): Promise<void> {
    await this.#access.transaction(async (db) => {
      const row = await rowOf(db, parts);
      await db.updateTable('sessions').set(change(row)).where('session', '=', row.session).execute();
    }, sync);
  }
}

interface SessionChanges {
  epoch: number;
  started_at: number;
  choices: string;
  facts: string | null;
}

async function rowOf(db: Transaction<Tables>, parts: readonly string[]): Promise<SessionRow> {
  const row = await db.selectFrom('sessions').selectAll().where('session', '=', JSON.stringify(parts)).executeTakeFirst();
  if (!row) throw noConversation(parts);
  return row;
}

function noConversation(parts: readonly string[]): Error {
  return new Error(`There is no conversation ${JSON.stringify(parts)}.`);
}

/** Every change of a conversation that exists changes a row. */
function refuseMissing(rows: number, parts: readonly string[]): void {
  if (rows === 0) throw noConversation(parts);
}

function addUsage(statements: Statements, parts: readonly string[], usage: Usage): void {
  const { cost = null } = usage;
  const given = { ...usage, session: JSON.stringify(parts), cost };
  refuseMissing(statements.run(consumption, given), parts);
}

/** The present epoch: a summary, if there is one, and the messages since, in order. */
async function presentOf(db: Transaction<Tables>, parts: readonly string[]) {
  const session = JSON.stringify(parts);
  const epoch = Number((await rowOf(db, parts)).epoch);
  const summary = await db
    .selectFrom('summaries')
    .select(['up_to as seq', 'turn', 'at', 'message'])
    .where('session', '=', session)
    .where('epoch', '=', epoch)
    .executeTakeFirst();
  const rest = db
    .selectFrom('transcript')
    .where('session', '=', session)
    .where('epoch', '=', epoch)
    .where('seq', '>', Number(summary?.seq ?? 0))
    .orderBy('seq');
  return { epoch, summary, rest };
}

/** The keys stay in their order: a provider takes a beginning it has seen for cheap only when it is the very same text. */
function jsonOf(message: unknown): string {
  return JSON.stringify(message) ?? 'null';
}

function entryOf(row: SessionRow): SessionEntry {
  return {
    parts: readJson(row.session),
    title: readJson(row.title),
    place: placeOf(row.place),
    epoch: Number(row.epoch),
    startedAt: new Date(Number(row.started_at)),
    lastActiveAt: new Date(Number(row.last_active_at)),
    choices: readJson(row.choices),
    facts: row.facts === null ? undefined : readJson(row.facts),
    undelivered: row.undelivered ?? undefined,
    usage: {
      inputTokens: Number(row.input_tokens),
      outputTokens: Number(row.output_tokens),
      cachedTokens: Number(row.cached_tokens),
      writtenTokens: Number(row.written_tokens),
      cost: row.cost ?? undefined,
    },
  };
}
