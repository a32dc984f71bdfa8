import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, onTestFinished } from 'vitest';
import { until } from './until.ts';

it('the program keeps what Node compiled even when it is killed', async () => {
  const clone = mkdtempSync(join(tmpdir(), 'hermetic-clone-'));
  onTestFinished(() => rmSync(clone, { recursive: true }));
  cpSync(join(import.meta.dirname, '../bin'), join(clone, 'bin'), { recursive: true });
  for (const directory of ['src/cli', 'src/lib', 'node_modules']) mkdirSync(join(clone, directory), { recursive: true });
  for (const name of ['own-command.ts', 'shell-quote.ts'])
    cpSync(join(import.meta.dirname, '../src/lib', name), join(clone, 'src/lib', name));
  writeFileSync(join(clone, 'node_modules/.package-lock.json'), '{}');
  writeFileSync(join(clone, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(clone, 'src/cli/main.ts'), 'export const main = async () => void setInterval(() => undefined, 1000);');
  const cache = join(clone, 'node_modules/.cache/hermetic');
  const env = { PATH: process.env.PATH, HOME: clone };
  const child = spawn(process.execPath, [join(clone, 'bin/hermetic.mjs'), 'start'], { stdio: 'ignore', env });
  const files = () =>
    existsSync(cache) ? readdirSync(cache, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()) : [];
  try {
    await until('it is on disk', () => files().length > 0, { withinMs: 30_000 });
  } finally {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});
