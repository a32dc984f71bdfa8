/**
 * How a gateway starts on an old home: `node bench/start.ts` makes a state database of about 576 MB in a temporary directory, most of it old enough
 * to be removed, starts the program on it and prints the table of bench/RESULTS.md.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, statSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Program } from '../test/gateway/program.ts';
import { until } from '../test/until.ts';
import { row } from './figures.ts';

const messages = 232_000;
const days = 60;
const patienceMs = 180_000;
const sessions = 300;
/** For what the program does a little later. */
const restMs = 5_000;

interface Stop {
  /** Since its process began. */
  at: number;
  ms: number;
}

/** Rows as a gateway leaves them that had so many messages. */
function fill(path: string): void {
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

function oldRows(path: string): number {
  const database = new DatabaseSync(path, { readOnly: true });
  const before = Date.now() - 30 * 24 * 60 * 60 * 1000;
  const { count } = database
    .prepare(
      `select (select count(*) from inbox where received_at < ${before}) + (select count(*) from outbox where settled_at < ${before}) as count`,
    )
    .get() as { count: number };
  database.close();
  return count;
}

const megabytes = (file: string): string => ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) / 1e6).toFixed(1);

const probe = fileURLToPath(new URL('./loop-probe.mjs', import.meta.url));
const stops = join(tmpdir(), `hermetic-stops-${process.pid}.json`);
const program = await Program.start({ backend: 'local', preload: probe, environment: { HERMETIC_BENCH_STOPS: stops } });
try {
  const path = join(program.directory, 'state.db');
  console.log(`${cpus().length} cores, Node ${process.version}\n`);
  console.log(
    row(
      'start on',
      'ready',
      'longest stops of the loop, with their time',
      'old rows gone after',
      'largest log of SQLite',
      'its log at the end',
      'database at the end',
    ),
  );
  console.log(row(...Array<string>(7).fill('---')));
  for (const home of ['an empty home', 'an old home', 'the same home again']) {
    await program.stop();
    if (home === 'an old home') fill(path);
    const before = `${home}, ${megabytes(path)} MB`;
    const startedAt = performance.now();
    await program.start();
    const readyMs = performance.now() - startedAt;
    let largest = 0;
    let goneMs = 0;
    await until(
      'old rows are gone',
      () => {
        largest = Math.max(largest, statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0);
        goneMs = performance.now() - startedAt;
        return oldRows(path) === 0;
      },
      { withinMs: patienceMs },
    );
    program.api.world.says({ text: 'Hello.' });
    await program.shows('Fine.');
    await sleep(restMs);
    largest = Math.max(largest, statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0);
    const end = [megabytes(`${path}-wal`), megabytes(path)];
    await program.stop();
    const found = JSON.parse(readFileSync(stops, 'utf8')) as Stop[];
    const longest = found.toSorted((a, b) => b.ms - a.ms).slice(0, 3);
    console.log(
      row(
        before,
        `${readyMs.toFixed(0)} ms`,
        longest.map(({ at, ms }) => `${ms} ms (at ${at})`).join(', '),
        `${goneMs.toFixed(0)} ms`,
        `${(largest / 1e6).toFixed(1)} MB`,
        ...end.map((size) => `${size} MB`),
      ),
    );
  }
} finally {
  await program.close();
  rmSync(stops, { force: true });
}
process.exit(0);
