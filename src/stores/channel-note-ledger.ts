import type { ChannelNoteLedger } from '../core/channel-notes.ts';
import type { Access } from './access.ts';

export class SqlChannelNoteLedger implements ChannelNoteLedger {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async read(channel: string): Promise<ReadonlyMap<string, string>> {
    const rows = await this.#access.read((db) =>
      db.selectFrom('channel_notes').select(['key', 'value']).where('channel', '=', channel).execute(),
    );
    return new Map(rows.map(({ key, value }) => [JSON.parse(key), JSON.parse(value)]));
  }

  async write(channel: string, notes: Readonly<Record<string, string | undefined>>): Promise<void> {
    await this.#access.transaction(async (db) => {
      for (const [name, note] of Object.entries(notes)) {
        const key = JSON.stringify(name);
        if (note === undefined) await db.deleteFrom('channel_notes').where('channel', '=', channel).where('key', '=', key).execute();
        else {
          const value = JSON.stringify(note);
          await db
            .insertInto('channel_notes')
            .values({ channel, key, value })
            .onConflict((conflict) => conflict.columns(['channel', 'key']).doUpdateSet({ value }))
            .execute();
        }
      }
    }, 'later');
  }
}
