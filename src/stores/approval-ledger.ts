import { type Insertable, type Selectable, sql } from 'kysely';
import type { Answer, Source } from '../core/approval.ts';
import type { AuditEvent } from '../core/audit.ts';
import type { ApprovalLedger, QuestionBeginning, QuestionEntry, QuestionFilter, QuestionState, Settlement } from '../core/store.ts';
import type { Access } from './access.ts';
import { appendEvents } from './audit-log.ts';
import { grantRow } from './grant-ledger.ts';
import { readJson } from './json-columns.ts';
import { removeOld } from './remove-old.ts';
import type { Tables } from './schema.ts';

/** A row that does not fit this allows nothing. */
const yes: ReadonlySet<unknown> = new Set(['once', 'session', 'always']);

export class SqlApprovalLedger implements ApprovalLedger {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async ask(question: QuestionBeginning, events: readonly AuditEvent[]): Promise<boolean> {
    return await this.#access.transaction(async (db) => {
      const taken = await db
        .selectFrom('questions')
        .select('id')
        .where((where) => where.or([where('id', '=', question.id), where('code', '=', question.code)]))
        .executeTakeFirst();
      if (taken) return false;
      await db.insertInto('questions').values(questionRow(question)).execute();
      await appendEvents(db, events);
      return true;
    });
  }

  async settle(id: string, settlement: Settlement): Promise<boolean> {
    const { state, at, events } = settlement;
    return await this.#access.transaction(async (db) => {
      let update = db.updateTable('questions').set({ state, settled_at: at.getTime() }).where('id', '=', id).where('state', '=', 'open');
      if (settlement.state === 'answered') {
        const { answer, answeredFrom } = settlement;
        // Security: silence until then was a no already, whether or not anybody has written that down.
        update = update.set({ answer: JSON.stringify(answer), answered_from: answeredFrom }).where('expires_at', '>', at.getTime());
      }
      const { numUpdatedRows } = await update.executeTakeFirstOrThrow();
      if (numUpdatedRows === 0n) return false;
      if (settlement.state === 'answered' && settlement.grants.length > 0) {
        await db.insertInto('grants').values(settlement.grants.map(grantRow)).execute();
      }
      await appendEvents(db, events);
      return true;
    });
  }

  async claim(id: string, at: Date, events: readonly AuditEvent[]): Promise<boolean> {
    return await this.#access.transaction(async (db) => {
      const unclaimed = db.selectFrom('questions').select('answer').where('id', '=', id).where('state', '=', 'answered');
      const row = await unclaimed.where('claimed_at', 'is', null).executeTakeFirst();
      if (!yes.has((readJson(row?.answer ?? 'null') as Answer | null)?.kind)) return false;
      await db.updateTable('questions').set({ claimed_at: at.getTime() }).where('id', '=', id).execute();
      await appendEvents(db, events);
      return true;
    });
  }

  async withdraw(id: string, at: Date, events: readonly AuditEvent[]): Promise<boolean> {
    return await this.#access.transaction(async (db) => {
      const { numUpdatedRows } = await db
        .updateTable('questions')
        .set({ state: 'withdrawn', settled_at: at.getTime() })
        .where('id', '=', id)
        .where('state', 'in', ['open', 'answered'])
        .where('claimed_at', 'is', null)
        .executeTakeFirstOrThrow();
      if (numUpdatedRows === 0n) return false;
      await appendEvents(db, events);
      return true;
    });
  }

  async prune(before: Date, signal?: AbortSignal): Promise<void> {
    const isOver = sql`state not in ('open', 'answered') or state = 'answered' and (claimed_at is not null or answer like '%"kind":"deny"%')`;
    const isShown = sql`exists (select 1 from question_cards where question_cards.question = questions.id)`;
    const age = { column: 'settled_at', before } as const;
    await removeOld(this.#access, { table: 'questions', age, only: sql`(${isOver}) and not ${isShown}` }, signal);
  }

  async find(idOrCode: string): Promise<QuestionEntry | undefined> {
    const row = await this.#access.run((db) =>
      db
        .selectFrom('questions')
        .selectAll()
        .where((where) => where.or([where('id', '=', idOrCode.toLowerCase()), where('code', '=', idOrCode.toUpperCase())]))
        .executeTakeFirst(),
    );
    return row && entryOf(row);
  }

  async list({ state, session, run, digest, unclaimed }: QuestionFilter = {}): Promise<QuestionEntry[]> {
    const rows = await this.#access.run((db) => {
      let query = db.selectFrom('questions').selectAll();
      if (state !== undefined) query = query.where('state', '=', state);
      if (session !== undefined) query = query.where('session', '=', JSON.stringify(session));
      if (run !== undefined) query = query.where('run', '=', run);
      if (digest !== undefined) query = query.where('digest', '=', digest);
      if (unclaimed !== undefined) query = query.where('state', '=', 'answered').where('claimed_at', unclaimed ? 'is' : 'is not', null);
      return query.orderBy('asked_at').orderBy('id').execute();
    });
    return rows.map(entryOf);
  }
}

function questionRow(question: QuestionBeginning): Insertable<Tables['questions']> {
  const { id, code, run, digest, sandbox, backend, source } = question;
  return {
    ...{ id, code, run, digest, sandbox, backend, source },
    session: JSON.stringify(question.parts),
    title: question.session,
    person: question.person ?? null,
    actions: JSON.stringify(question.actions),
    findings: JSON.stringify(question.findings),
    asked_at: question.askedAt.getTime(),
    expires_at: question.expiresAt.getTime(),
    state: 'open',
    answer: null,
    answered_from: null,
    settled_at: null,
    claimed_at: null,
  };
}

function entryOf(row: Selectable<Tables['questions']>): QuestionEntry {
  const { id, code, run, digest, sandbox, backend } = row;
  return {
    ...{ id, code, run, digest, sandbox, backend },
    parts: readJson(row.session),
    session: row.title,
    source: row.source as Source,
    person: row.person ?? undefined,
    actions: readJson(row.actions),
    // JSON has no undefined.
    findings: (readJson(row.findings) as QuestionEntry['findings']).map((finding) => ({ ...finding, program: finding.program })),
    askedAt: new Date(Number(row.asked_at)),
    expiresAt: new Date(Number(row.expires_at)),
    state: row.state as QuestionState,
    answer: row.answer === null ? undefined : answerOf(row.answer),
    answeredFrom: row.answered_from ?? undefined,
    settledAt: timeOf(row.settled_at),
    claimedAt: timeOf(row.claimed_at),
  };
}

function answerOf(text: string): Answer {
  const answer = readJson(text) as Answer;
  return answer.kind === 'always' && answer.expiresAt ? { ...answer, expiresAt: new Date(answer.expiresAt) } : answer;
}

function timeOf(time: number | string | null): Date | undefined {
  return time === null ? undefined : new Date(Number(time));
}
