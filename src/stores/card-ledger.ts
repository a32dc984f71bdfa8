import type { CardLedger, QuestionCard } from '../core/conversation.ts';
import { digestOf } from '../lib/canonical-json.ts';
import type { Access } from './access.ts';
import { placeJson, placeOf, readJson } from './json-columns.ts';

export class SqlCardLedger implements CardLedger {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async add({ question, key, place }: QuestionCard): Promise<void> {
    await this.#access.run((db) =>
      db
        .insertInto('question_cards')
        .values({ identity: digestOf(key), key: JSON.stringify(key), question, place: placeJson(place) })
        .onConflict((conflict) => conflict.column('identity').doNothing())
        .execute(),
    );
  }

  async list(question?: string): Promise<QuestionCard[]> {
    const rows = await this.#access.run((db) => {
      const all = db.selectFrom('question_cards').selectAll();
      return (question === undefined ? all : all.where('question', '=', question)).execute();
    });
    return rows.map((row) => ({ question: row.question, key: readJson(row.key), place: placeOf(row.place) }));
  }

  async forget(key: string): Promise<void> {
    await this.#access.run((db) => db.deleteFrom('question_cards').where('identity', '=', digestOf(key)).execute());
  }
}
