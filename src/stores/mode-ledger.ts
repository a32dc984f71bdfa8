import type { Selectable } from 'kysely';
import type { AuditEvent } from '../core/audit.ts';
import type { ModeLedger, Yolo } from '../core/store.ts';
import type { Access } from './access.ts';
import { appendEvents } from './audit-log.ts';
import { readJson } from './json-columns.ts';
import type { Tables } from './schema.ts';

export class SqlModeLedger implements ModeLedger {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async yolo(parts: readonly string[]): Promise<Yolo[]> {
    const rows = await this.#access.read((db) =>
      db.selectFrom('session_yolo').selectAll().where('session', '=', JSON.stringify(parts)).orderBy('since').orderBy('person').execute(),
    );
    return rows.map(yoloOf);
  }

  async setYolo(parts: readonly string[], yolo: Yolo | undefined, events: readonly AuditEvent[]): Promise<void> {
    const session = JSON.stringify(parts);
    await this.#access.transaction(async (db) => {
      if (yolo) {
        const since = yolo.since.getTime();
        await db
          .insertInto('session_yolo')
          .values({ session, person: yolo.by, since })
          .onConflict((conflict) => conflict.columns(['session', 'person']).doUpdateSet({ since }))
          .execute();
      } else {
        await db.deleteFrom('session_yolo').where('session', '=', session).execute();
      }
      await appendEvents(db, events);
    });
  }

  async list(): Promise<(Yolo & { parts: readonly string[] })[]> {
    const rows = await this.#access.run((db) => db.selectFrom('session_yolo').selectAll().orderBy('since').orderBy('person').execute());
    return rows.map((row) => ({ parts: readJson(row.session), ...yoloOf(row) }));
  }
}

function yoloOf({ person, since }: Selectable<Tables['session_yolo']>): Yolo {
  return { by: person, since: new Date(Number(since)) };
}
