import type { IncomingMessage } from '../core/channel.ts';
import type { HeardPlace, PeopleLedger } from '../core/conversation.ts';
import type { Access } from './access.ts';
import { placeJson, placeOf, readJson } from './json-columns.ts';
import { Statement, type Statements } from './statement.ts';

export class SqlPeopleLedger implements PeopleLedger {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async placesOf(platform: string, person: string): Promise<HeardPlace[]> {
    const rows = await this.#access.run((db) =>
      db
        .selectFrom('heard_places')
        .selectAll()
        .where('platform', '=', JSON.stringify(platform))
        .where('person', '=', JSON.stringify(person))
        .orderBy('heard_at', 'desc')
        .orderBy('place')
        .execute(),
    );
    return rows.map(({ place, is_direct, name, heard_at }) => ({
      place: placeOf(place),
      isDirect: Number(is_direct) === 1,
      name: readJson(name),
      at: new Date(Number(heard_at)),
    }));
  }
}

/** Part of the transaction that accepts the message. */
export function noteHeard(statements: Statements, { place, from, isDirect }: IncomingMessage, at: Date): void {
  statements.run(hear, {
    platform: JSON.stringify(place.platform),
    person: JSON.stringify(from.id),
    place: placeJson(place),
    is_direct: Number(isDirect),
    name: JSON.stringify(from.name),
    heard_at: at.getTime(),
  });
}

type Heard = Record<'platform' | 'person' | 'place' | 'name', string> & Record<'is_direct' | 'heard_at', number>;

const hear = new Statement<Heard>((db, { platform, person, place, is_direct, name, heard_at }) =>
  db
    .insertInto('heard_places')
    .values({ platform, person, place, is_direct, name, heard_at })
    .onConflict((conflict) => conflict.columns(['platform', 'person', 'place']).doUpdateSet({ is_direct, name, heard_at }))
    .compile(),
);
