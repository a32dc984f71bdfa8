import type { DatabaseSync } from 'node:sqlite';
import { columnNames } from '../columns.ts';
import { corrupt } from './failures.ts';

/**
 * Security: throws when the database holds something that acts by itself or stands in for a table. Hermetic makes none of these, and a trigger could
 * answer a question or grant a right.
 */
export function refuseForeignParts(path: string, database: DatabaseSync): void {
  const foreign = database
    .prepare("select type, name from sqlite_schema where type in ('trigger', 'view') or sql like 'create virtual%' limit 1")
    .get();
  if (foreign) throw corrupt(path, `holds a ${foreign.type} ${JSON.stringify(foreign.name)}, which Hermetic did not make`);
}

/** Columns that a database of this version has and this one has not, as `table.column`. More than these do no harm. */
export function missingColumns(database: DatabaseSync): string[] {
  // A column that is computed has another number than 0: what is written to it is not kept.
  const rows = database
    .prepare(
      `select part.name || '.' || field.name as column from sqlite_schema part, pragma_table_xinfo(part.name) field
       where part.type = 'table' and field.hidden = 0`,
    )
    .all();
  const found = new Set(rows.map(({ column }) => column));
  return columnNames.filter((column) => !found.has(column));
}
