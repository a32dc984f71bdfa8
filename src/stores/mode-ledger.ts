import type { AuditEvent } from '../core/audit.ts';
import type { ModeLedger } from '../core/store.ts';
import type { Access } from './access.ts';
import { appendEvents } from './audit-log.ts';

export class SqlModeLedger implements ModeLedger {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async yolo(parts: readonly string[]): Promise<{ by: string; since: Date } | undefined> {
    const row = await this.#access.read((db) =>
      db.selectFrom('session_modes').selectAll().where('session', '=', JSON.stringify(parts)).executeTakeFirst(),
    );
    return row && { by: row.yolo_by, since: new Date(Number(row.yolo_since)) };
  }

  async setYolo(parts: readonly string[], yolo: { by: string; since: Date } | undefined, events: readonly AuditEvent[]): Promise<void> {
    const session = JSON.stringify(parts);
    await this.#access.transaction(async (db) => {
      if (yolo) {
        const row = { yolo_by: yolo.by, yolo_since: yolo.since.getTime() };
        await db
          .insertInto('session_modes')
          .values({ session, ...row })
          .onConflict((conflict) => conflict.column('session').doUpdateSet(row))
          .execute();
      } else {
        await db.deleteFrom('session_modes').where('session', '=', session).execute();
      }
      await appendEvents(db, events);
    });
  }

  async list(): Promise<{ parts: readonly string[]; by: string; since: Date }[]> {
    const rows = await this.#access.run((db) => db.selectFrom('session_modes').selectAll().orderBy('yolo_since').execute());
    return rows.map((row) => ({ parts: JSON.parse(row.session), by: row.yolo_by, since: new Date(Number(row.yolo_since)) }));
  }
}
