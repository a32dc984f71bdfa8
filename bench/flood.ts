/**
 * How long a command of one session takes while another session prints without end, beside the same on an idle gateway: `node bench/flood.ts`.
 *
 *   HERMETIC_BENCH_IMAGE  an image with bash and coreutils that the engine has (default: terminal.docker_image)
 *   HERMETIC_BENCH_BACKENDS  which backends, with spaces between them (default: bubblewrap docker)
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { backendDrivers } from '../src/backends/index.ts';
import { removeTree } from '../src/backends/sandbox-directory.ts';
import type { OpenSandbox } from '../src/core/sandbox.ts';
import { redactor } from '../src/lib/redact.ts';
import { ProcessTable } from '../src/tools/process/process-table.ts';
import { terminal } from '../src/tools/terminal.ts';
import { Toolbox } from '../src/tools/toolbox.ts';
import { median, quantile, row, timed } from './figures.ts';
import { backendOf, directory, quiet, specFor } from './ground.ts';

const rounds = 3;
const commands = 20;
const gapMs = 20;
const wanted = (process.env.HERMETIC_BENCH_BACKENDS ?? 'bubblewrap docker').split(' ');

const floods = new Map([
  ['`-eyJ` without an end', `text=$(printf -- '-eyJ%.0s' {1..10000}); while :; do printf %s "$text"; done`],
  ['`cat /dev/urandom`', 'cat /dev/urandom'],
  ['`yes`', 'yes'],
]);

const secrets = Array.from({ length: 12 }, () => randomBytes(24).toString('base64url'));
const guard = async () => ({ allowed: true }) as const;

function toolboxOf(sandbox: OpenSandbox): Toolbox {
  const tools = [terminal({ timeoutSeconds: 600, maxTimeoutSeconds: 600, processes: new ProcessTable(sandbox) })];
  return new Toolbox({ tools, sandbox, guard, redact: redactor(secrets), maxBytes: 50_000 });
}

async function commandTimes(toolbox: Toolbox): Promise<number[]> {
  const times: number[] = [];
  for (let done = 0; done < commands; done++) {
    await sleep(gapMs);
    times.push(await timed(() => toolbox.call('terminal', { command: 'true' }, { progress: () => undefined })));
  }
  return times;
}

/** Runs the work while the other session prints. */
async function during<T>(toolbox: Toolbox, command: string, work: () => Promise<T>): Promise<T> {
  const end = new AbortController();
  const printed = new EventTarget();
  const first = once(printed, 'text');
  const flood = toolbox.call(
    'terminal',
    { command },
    { signal: end.signal, progress: () => void printed.dispatchEvent(new Event('text')) },
  );
  await first;
  const result = await work();
  end.abort();
  await flood;
  return result;
}

console.log(row('while another session runs', 'idle, median', 'p95', 'flooded, median', 'p95', 'p95 flooded ÷ idle'));
console.log(row('---', '---', '---', '---', '---', '---'));
for (const driver of backendDrivers) {
  const backend = backendOf(driver);
  if (!wanted.includes(driver.kind) || !(await backend.check()).usable) continue;
  const [quietOne, loudOne] = await Promise.all(['quiet', 'loud'].map((name) => backend.open(specFor(driver.kind, name), quiet)));
  if (!quietOne || !loudOne) continue;
  const toolbox = toolboxOf(quietOne);
  for (const [name, command] of floods) {
    const idle: number[] = [];
    const flooded: number[] = [];
    for (let round = 0; round < rounds; round++) {
      idle.push(...(await commandTimes(toolbox)));
      flooded.push(...(await during(toolboxOf(loudOne), command, () => commandTimes(toolbox))));
    }
    const ratio = (quantile(flooded, 0.95) / quantile(idle, 0.95)).toFixed(2);
    const ms = (times: number[]) => [median(times), quantile(times, 0.95)].map((time) => `${time.toFixed(1)} ms`);
    console.log(row(`${name}, ${driver.kind}`, ...ms(idle), ...ms(flooded), ratio));
  }
  for (const sandbox of [quietOne, loudOne]) await sandbox.destroy();
}
await removeTree(directory);
process.exit(0);
