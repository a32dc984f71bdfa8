import { execFileSync } from 'node:child_process';
import { DatabaseSync } from 'node:sqlite';

/** About 576 MB. */
const messages = 232_000;
const days = 60;
const sessions = 300;
const oldBefore = Date.now() - 30 * 24 * 60 * 60 * 1000;

/** Rows as a gateway leaves them that had so many messages. */
export function fill(path: string): void {
  const database = new DatabaseSync(path);
  const firstMs = Date.now() - days * 24 * 60 * 60 * 1000;
  const stepMs = (Date.now() - firstMs) / messages;
  database.exec('pragma synchronous = off; pragma cache_size = -200000; begin');
  const numbers = (count: number) => `with recursive n(i) as (select 1000 union all select i + 1 from n where i < ${count} + 999)`;
  const session = `'["telegram",null,"' || (i % ${sessions}) || '",null]'`;
  const time = (perMessage: number) => `cast(${firstMs} + i * ${stepMs / perMessage} as integer)`;
  const place = `'{"chat":"' || (i % ${sessions}) || '","platform":"telegram"}'`;
  const text = (length: number) => `hex(zeroblob(${length / 2}))`;
  database.exec(`${numbers(messages)} insert into inbox (seq, identity, session, incoming, state, received_at, turn, role)
    select i, hex(randomblob(32)), ${session}, '{"kind":"message","text":"' || ${text(300)} || '"}', 'done', ${time(1)}, '"turn-' || i || '"', 'user' from n`);
  database.exec(`${numbers(messages)} insert into outbox
    (seq, identity, key, place, message, file, replaces, is_draft, state, added_at, due_at, attempts, doubts, failure, sent_id, settled_at)
    select i, hex(randomblob(32)), '"turn-' || i || '/answer"', ${place}, '{"text":"' || ${text(400)} || '"}', null, null, 0, 'sent', ${time(1)},
    ${time(1)}, 1, 0, null, '"' || i || '"', ${time(1)} from n`);
  database.exec(`${numbers(messages * 2)} insert into transcript (seq, session, epoch, turn, at, message)
    select i, ${session}, i / 40000, '"turn-' || (i / 2) || '"', ${time(2)}, '{"role":"user","content":"' || ${text(260)} || '"}' from n`);
  database.exec(
    `insert or replace into counters values ('inbox', ${messages + 1000}), ('outbox', ${messages + 1000}), ('transcript', ${messages * 2 + 1000}); commit`,
  );
  database.close();
  // What is written here must not be what the program waits for.
  execFileSync('sync');
}

/** How many rows there are of those that the program removes because of their age. More become too old every minute, and do not count. */
export function oldRows(path: string): number {
  const database = new DatabaseSync(path, { readOnly: true });
  const { count } = database
    .prepare(
      `select (select count(*) from inbox where received_at < ${oldBefore}) + (select count(*) from outbox where settled_at < ${oldBefore}) as count`,
    )
    .get() as { count: number };
  database.close();
  return count;
}
