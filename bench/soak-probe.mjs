// Loaded before the program: measures the delay of its event loop. On SIGUSR2 it reads the file that HERMETIC_SOAK_PROBE names, does what is asked
// there, and writes what it found beside it. The program itself uses this signal for nothing.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString, writeHeapSnapshot } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

const file = process.env.HERMETIC_SOAK_PROBE;
const resolutionMs = 5;
/** Between two collections, for what is done after one. */
const betweenMs = 50;

if (file && isMainThread) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  const histogram = monitorEventLoopDelay({ resolution: resolutionMs });
  histogram.enable();

  /** How much later than asked for the loop came round. */
  const milliseconds = (nanoseconds) => Math.max(0, nanoseconds / 1e6 - resolutionMs);

  const answer = async () => {
    const { id, collects, snapshot } = JSON.parse(readFileSync(file, 'utf8'));
    const loop = {
      p50: milliseconds(histogram.percentile(50)),
      p99: milliseconds(histogram.percentile(99)),
      max: milliseconds(histogram.max),
    };
    if (collects) {
      collect();
      await delay(betweenMs);
      collect();
    }
    if (snapshot) writeHeapSnapshot(snapshot);
    const { heapUsed, external } = process.memoryUsage();
    // What this has done to the loop does not count.
    await delay(betweenMs);
    histogram.reset();
    writeFileSync(`${file}.new`, JSON.stringify({ id, loop, heapUsed, external }));
    renameSync(`${file}.new`, `${file}.answer`);
  };
  process.on('SIGUSR2', () => {
    answer().catch((error) => console.error('soak probe:', error));
  });
}
