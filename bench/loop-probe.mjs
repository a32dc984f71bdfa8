// Loaded before the program: writes down every stop of its event loop, and when it was, to the file that HERMETIC_BENCH_STOPS names.
import { writeFileSync } from 'node:fs';
import { setInterval } from 'node:timers';

const everyMs = 5;
const countedMs = 40;
const file = process.env.HERMETIC_BENCH_STOPS;
const stops = [];
let last = performance.now();

setInterval(() => {
  const now = performance.now();
  const ms = now - last - everyMs;
  last = now;
  if (ms > countedMs) stops.push({ at: Math.round(now), ms: Math.round(ms) });
}, everyMs).unref();
process.on('exit', () => {
  if (file) writeFileSync(file, JSON.stringify(stops));
});
