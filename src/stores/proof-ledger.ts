import type { Selectable } from 'kysely';
import type { ProofEntry, ProofLedger } from '../core/store.ts';
import type { Access } from './access.ts';
import { readJson } from './json-columns.ts';
import type { Tables } from './schema.ts';

const keptPerSpec = 10;

export class SqlProofLedger implements ProofLedger {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async record({ backend, specHash, provenAt, held, lines }: ProofEntry): Promise<void> {
    const result = { held: Number(held), lines: JSON.stringify(lines) ?? 'null' };
    await this.#access.transaction(async (db) => {
      await db
        .insertInto('proofs')
        .values({ backend, spec_hash: specHash, proven_at: provenAt.getTime(), ...result })
        .onConflict((conflict) => conflict.columns(['backend', 'spec_hash', 'proven_at']).doUpdateSet(result))
        .execute();
      await db
        .deleteFrom('proofs')
        .where('backend', '=', backend)
        .where('spec_hash', '=', specHash)
        .where('proven_at', 'not in', (query) =>
          query
            .selectFrom('proofs as newest')
            .select('newest.proven_at')
            .where('newest.backend', '=', backend)
            .where('newest.spec_hash', '=', specHash)
            .orderBy('newest.proven_at', 'desc')
            .limit(keptPerSpec),
        )
        .execute();
    });
  }

  async latest(backend: string, specHash: string): Promise<ProofEntry | undefined> {
    const row = await this.#access.run((db) =>
      db
        .selectFrom('proofs')
        .selectAll()
        .where('backend', '=', backend)
        .where('spec_hash', '=', specHash)
        .orderBy('proven_at', 'desc')
        .limit(1)
        .executeTakeFirst(),
    );
    return row && proofOf(row);
  }

  async list(): Promise<ProofEntry[]> {
    const rows = await this.#access.run((db) =>
      db.selectFrom('proofs').selectAll().orderBy('proven_at', 'desc').orderBy('backend').orderBy('spec_hash').execute(),
    );
    return rows.map(proofOf);
  }
}

function proofOf(row: Selectable<Tables['proofs']>): ProofEntry {
  return {
    backend: row.backend,
    specHash: row.spec_hash,
    provenAt: new Date(Number(row.proven_at)),
    held: Number(row.held) === 1,
    lines: readJson(row.lines),
  };
}
