import type { Transaction } from 'kysely';
import type { IncomingMessage } from '../core/channel.ts';
import type { HeardPlace, PeopleLedger } from '../core/conversation.ts';
import type { Access } from './access.ts';
import { placeJson, placeOf, readJson } from './json-columns.ts';
import type { Tables } from './schema.ts';

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
export async function noteHeard(db: Transaction<Tables>, { place, from, isDirect }: IncomingMessage, at: Date): Promise<void> {
  const what = { is_direct: Number(isDirect), name: JSON.stringify(from.name), heard_at: at.getTime() };
  await db
    .insertInto('heard_places')
    .values({ platform: JSON.stringify(place.platform), person: JSON.stringify(from.id), place: placeJson(place), ...what })
    .onConflict((conflict) => conflict.columns(['platform', 'person', 'place']).doUpdateSet(what))
    .execute();
}
