import type { BackgroundLedger, WatchedProcess } from '../core/background.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import type { Access } from './access.ts';
import { readJson } from './json-columns.ts';

export class SqlBackgroundLedger implements BackgroundLedger {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async add({ session, process, startedAt, ...rest }: WatchedProcess): Promise<void> {
    const about = canonicalJson(rest);
    const row = { session: JSON.stringify(session), process: JSON.stringify(process), about, started_at: startedAt.getTime() };
    await this.#access.run((db) =>
      db
        .insertInto('background_processes')
        .values(row)
        .onConflict((conflict) => conflict.columns(['session', 'process']).doUpdateSet({ about, started_at: row.started_at }))
        .execute(),
    );
  }

  async remove(session: readonly string[], process: string): Promise<void> {
    await this.#access.run((db) =>
      db
        .deleteFrom('background_processes')
        .where('session', '=', JSON.stringify(session))
        .where('process', '=', JSON.stringify(process))
        .execute(),
    );
  }

  async list(): Promise<WatchedProcess[]> {
    const rows = await this.#access.run((db) =>
      db.selectFrom('background_processes').selectAll().orderBy('started_at').orderBy('session').orderBy('process').execute(),
    );
    return rows.map((row) => {
      const about = readJson(row.about) as Omit<WatchedProcess, 'session' | 'process' | 'startedAt'>;
      const { platform, workspace, chat, thread } = about.place;
      return {
        ...about,
        // JSON has no undefined.
        place: { platform, workspace, chat, thread },
        session: readJson(row.session),
        process: readJson(row.process),
        startedAt: new Date(Number(row.started_at)),
      };
    });
  }
}
