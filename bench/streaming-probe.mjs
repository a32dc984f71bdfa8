// Loaded before the program: at SIGUSR2 and at its end, adds a line to the file that HERMETIC_BENCH_DELAYS names, which says how long its event
// loop was late since the line before, in milliseconds.
import { appendFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const resolution = 5;
const file = process.env.HERMETIC_BENCH_DELAYS;
const delays = monitorEventLoopDelay({ resolution });
const late = (nanoseconds) => Math.max(0, nanoseconds / 1e6 - resolution);

function write() {
  if (file === undefined) return;
  const line = { p50: late(delays.percentile(50)), p99: late(delays.percentile(99)), max: late(delays.max), count: delays.count };
  appendFileSync(file, `${JSON.stringify(line)}\n`);
  delays.reset();
}

delays.enable();
process.on('SIGUSR2', write);
process.on('exit', write);
