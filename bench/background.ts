/**
 * How much memory of the host a background process takes that prints 100 MB: `node --expose-gc bench/background.ts`.
 *
 *   HERMETIC_BENCH_IMAGE  an image with bash and coreutils that the engine has (default: terminal.docker_image)
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { backendDrivers } from '../src/backends/index.ts';
import { removeTree } from '../src/backends/sandbox-directory.ts';
import { ProcessTable } from '../src/tools/process/process-table.ts';
import { callSandbox } from '../test/tools/call-sandbox.ts';
import { backendOf, directory, quiet, specFor } from './ground.ts';

const printedBytes = 100_000_000;
const mebibytes = (bytes: number): string => (bytes / 1024 / 1024).toFixed(1);

console.log('| backend | printed | memory of the host, at most | seconds |');
console.log('|---|---|---|---|');
for (const driver of backendDrivers) {
  const backend = backendOf(driver);
  if (!(await backend.check()).usable) continue;
  const sandbox = await backend.open(specFor(driver.kind, 'background'), quiet);
  const table = new ProcessTable(sandbox);
  // Everything that is loaded or compiled once has been, before anything is measured.
  await (await table.start(callSandbox(sandbox), { command: 'seq 1 200000', cwd: undefined, terminal: undefined, patterns: ['never'] }))
    .ended;
  globalThis.gc?.();
  await sleep(200);
  const before = process.memoryUsage().rss;
  let most = before;
  const look = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 5);
  const started = performance.now();
  const running = await table.start(callSandbox(sandbox), {
    command: `head -c ${printedBytes} /dev/zero | tr '\\0' x | fold -w 99`,
    cwd: undefined,
    terminal: undefined,
    patterns: ['never'],
  });
  await running.ended;
  clearInterval(look);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`| ${backend.kind} | ${mebibytes(running.bytes)} MiB | ${mebibytes(most - before)} MiB | ${seconds} |`);
  await sandbox.destroy();
}
await removeTree(directory);
