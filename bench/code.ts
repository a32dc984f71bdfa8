/**
 * A script that reads 20 files with read_file, against as many calls of the `docker exec` command, measured in one interleaved run:
 * `node bench/code.ts`.
 *
 *   HERMETIC_BENCH_IMAGE  an image with bash, coreutils and Python that the engine has (default: terminal.docker_image)
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { docker } from '../src/backends/docker/index.ts';
import { removeTree } from '../src/backends/sandbox-directory.ts';
import { unredacted } from '../src/lib/redact.ts';
import { executeCode } from '../src/tools/execute-code/execute-code.ts';
import { readFile } from '../src/tools/files/read-file.ts';
import { writeFile } from '../src/tools/files/write-file.ts';
import { Toolbox } from '../src/tools/toolbox.ts';
import { median, quantile, row, timed } from './figures.ts';
import { backendOf, directory, program, quiet, specFor } from './ground.ts';

const rounds = 12;
const calls = 20;
const gapMs = 200;

const sandbox = await backendOf(docker).open(specFor('docker', 'code'), quiet);

try {
  const tools = [readFile, writeFile];
  const code = executeCode({ timeoutSeconds: 300, maxToolCalls: 50, mode: 'project', tools });
  const guard = async () => ({ allowed: true }) as const;
  const toolbox = new Toolbox({ tools: [...tools, code], sandbox, guard, redact: unredacted, maxBytes: 50_000 });
  const script = async (language: string, source: string): Promise<void> => {
    const result = await toolbox.call('execute_code', { language, code: source });
    if (!result.ok || result.data.status !== 'success') throw new Error(result.text);
  };
  const text = Array.from({ length: 120 }, (_, line) => `const value${line} = compute(${line}, "some text");\n`).join('');
  for (let file = 0; file < calls; file++) await sandbox.writeFile(`file${file}.ts`, text);
  const inTurn = `for n in range(${calls}): assert read_file("file%d.ts" % n)["total_lines"] == 120`;
  const atOnce = `
from concurrent.futures import ThreadPoolExecutor
for page in ThreadPoolExecutor(8).map(read_file, ["file%d.ts" % n for n in range(${calls})]): assert page["total_lines"] == 120`;
  const hasThreadPool = await script('python', 'import concurrent.futures').then(
    () => true,
    () => false,
  );
  const variants = new Map<string, () => Promise<void>>([
    [
      `${calls} × \`docker exec … cat\``,
      async () => {
        for (let file = 0; file < calls; file++)
          await program('docker', ['exec', 'hermetic-bench-code', 'cat', `${sandbox.cwd}/file${file}.ts`]);
      },
    ],
    [`execute_code, Python, ${calls} × read_file`, () => script('python', inTurn)],
    ...(hasThreadPool ? ([[`the same, 8 at once`, () => script('python', atOnce)]] as const) : []),
    [
      `execute_code, bash, ${calls} × read_file`,
      () => script('bash', `for ((n = 0; n < ${calls}; n++)); do read_file "file$n.ts" >/dev/null; done`),
    ],
    [
      'execute_code, bash, write_file with 700 kB',
      () => script('bash', `printf -v text '%0700000d' 7; write_file long.txt --content="$text" >/dev/null`),
    ],
    ['execute_code, Python, write_file with 700 kB', () => script('python', 'write_file("long.txt", "7" * 700000)')],
    ['execute_code, Python, nothing', () => script('python', 'pass')],
  ]);
  const times = new Map([...variants.keys()].map((name) => [name, [] as number[]]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, action] of variants) {
      await sleep(gapMs);
      const elapsed = await timed(action);
      if (round > 0) times.get(name)?.push(elapsed);
    }
  }
  const [first = []] = times.values();
  console.log(`${row('a script that reads files on docker', 'median', 'p95', '`docker exec` ÷ it')}\n${row('---', '---', '---', '---')}`);
  for (const [name, values] of times) {
    const ms = (value: number) => `${value.toFixed(1)} ms`;
    console.log(row(name, ms(median(values)), ms(quantile(values, 0.95)), (median(first) / median(values)).toFixed(1)));
  }
} finally {
  await sandbox.destroy();
  await removeTree(directory);
}
process.exit(0);
