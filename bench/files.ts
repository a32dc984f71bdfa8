/**
 * The file tools against a warm command, and search_files against ripgrep, measured in one interleaved run: `node bench/files.ts`.
 *
 *   HERMETIC_BENCH_IMAGE  an image with bash and coreutils that the engine has (default: terminal.docker_image)
 */

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { backendDrivers } from '../src/backends/index.ts';
import { removeTree } from '../src/backends/sandbox-directory.ts';
import type { OpenSandbox } from '../src/core/sandbox.ts';
import { unredacted } from '../src/lib/redact.ts';
import { editFile } from '../src/tools/files/edit-file.ts';
import { readFile } from '../src/tools/files/read-file.ts';
import { searchFiles } from '../src/tools/files/search-files.ts';
import { writeFile } from '../src/tools/files/write-file.ts';
import { Toolbox } from '../src/tools/toolbox.ts';
import { median, quantile, row, timed } from './figures.ts';
import { backendOf, directory, lived, program, quiet, specFor } from './ground.ts';

const rounds = 60;
const searchRounds = 15;
const gapMs = 100;
const fileCount = 20_000;

async function command(sandbox: OpenSandbox, source: string): Promise<string> {
  const handle = await sandbox.exec({ command: source });
  let text = '';
  for await (const { data } of handle.output) text += data.toString();
  const exit = await handle.exit;
  if (exit.kind !== 'exited' || exit.code !== 0) throw new Error(`${source} failed: ${JSON.stringify(exit)}`);
  return text;
}

/** Alternates between the variants, so that other load of the machine meets all of them. */
async function measured(count: number, variants: ReadonlyMap<string, () => Promise<unknown>>): Promise<Map<string, number[]>> {
  const times = new Map([...variants.keys()].map((name) => [name, [] as number[]]));
  for (let round = 0; round < count; round++) {
    for (const [name, action] of variants) {
      await sleep(gapMs);
      const elapsed = await timed(action);
      if (round > 1) times.get(name)?.push(elapsed);
    }
  }
  return times;
}

function report(times: ReadonlyMap<string, readonly number[]>): void {
  const [first = []] = times.values();
  for (const [name, values] of times) {
    const ms = (value: number) => `${value.toFixed(2)} ms`;
    console.log(row(name, ms(median(values)), ms(quantile(values, 0.95)), (median(values) / median(first)).toFixed(2)));
  }
}

const source = Array.from({ length: 120 }, (_, line) => `  const value${line} = compute(${line}, "some text");`).join('\n');

console.log(`${row('on 5 kB of source', 'median', 'p95', '× warm `true`')}\n${row('---', '---', '---', '---')}`);
try {
  for (const driver of backendDrivers) {
    const backend = backendOf(driver);
    const sandbox = await backend.open(specFor(driver.kind, 'files'), quiet);
    try {
      const tools = [readFile, writeFile, editFile, searchFiles];
      const guard = async () => ({ allowed: true }) as const;
      const toolbox = new Toolbox({ tools, sandbox, guard, redact: unredacted, maxBytes: 50_000 });
      const call = async (name: string, input: object) => {
        const result = await toolbox.call(name, input);
        if (!result.ok) throw new Error(result.text);
        return result.data;
      };
      await command(sandbox, lived);
      await call('write_file', { path: 'read.ts', content: source });
      await call('write_file', { path: 'edit.ts', content: source });
      let turn = 0;
      let edits = 0;
      const variants = new Map<string, () => Promise<unknown>>([
        [`${driver.kind}: \`true\``, () => command(sandbox, 'true')],
        [`${driver.kind}: read_file`, () => call('read_file', { path: 'read.ts' })],
        [`${driver.kind}: write_file`, () => call('write_file', { path: 'write.ts', content: `${source}\n// ${turn++}` })],
        [
          `${driver.kind}: edit_file`,
          () => {
            const [old_text, new_text] =
              edits++ % 2 === 0 ? ['const value60 =', 'const other60 ='] : ['const other60 =', 'const value60 ='];
            return call('edit_file', { path: 'edit.ts', edits: [{ old_text, new_text }] });
          },
        ],
      ]);
      report(await measured(rounds, variants));
      if (driver.kind === 'docker' || (await command(sandbox, 'type -P rg || true')) === '') continue;
      await command(
        sandbox,
        `mkdir -p tree && cd tree && for d in {1..200}; do mkdir -p $d; for f in {1..${fileCount / 200}}; do printf 'a line\\nfile %s\\nneedle%s\\n%0800d\\n' $f $((f % 50)) $d >$d/$f.txt; done; done; cd ..`,
      );
      const { engine } = (await call('search_files', { pattern: 'needle7$', path: 'tree', limit: 5000 })) as { engine: string };
      const place = (await command(sandbox, 'pwd')).trim();
      const search = new Map<string, () => Promise<unknown>>([
        [`${driver.kind}: \`rg\` in the sandbox`, () => command(sandbox, "rg --hidden --no-ignore -n 'needle7$' tree")],
        [`${driver.kind}: search_files (${engine})`, () => call('search_files', { pattern: 'needle7$', path: 'tree', limit: 5000 })],
      ]);
      if (driver.kind === 'local')
        search.set('`rg` from Node', () => program('rg', ['--hidden', '--no-ignore', '-n', 'needle7$', join(place, 'tree')]));
      console.log(row(`${fileCount} files`, 'median', 'p95', '× rg'));
      report(await measured(searchRounds, search));
    } finally {
      await sandbox.destroy();
    }
  }
} finally {
  await removeTree(directory);
}
process.exit(0);
