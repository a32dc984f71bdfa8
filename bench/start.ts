/**
 * How a gateway starts on an old home: `node bench/start.ts` makes a state database of about 576 MB in a temporary directory, most of it old enough
 * to be removed, starts the program on it and prints the table of bench/RESULTS.md.
 */
import { readFileSync, rmSync, statSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Program } from '../test/gateway/program.ts';
import { until } from '../test/until.ts';
import { row } from './figures.ts';
import { fill, oldRows } from './soak/old-home.ts';

const deadlineMs = 180_000;
/** For what the program does a little later. */
const restMs = 5_000;

interface Stop {
  /** Since its process began. */
  at: number;
  ms: number;
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
      { withinMs: deadlineMs },
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
