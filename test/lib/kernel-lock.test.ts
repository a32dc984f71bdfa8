import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { isKernelLocked, takeKernelLock } from '../../src/lib/kernel-lock.ts';
import { itNeeding } from '../needs.ts';

const elsewhere = ['unshare', '--pid', '--fork', '--mount-proc'];
const source = JSON.stringify(new URL('../../src/lib/kernel-lock.ts', import.meta.url).href);
const node = [process.execPath, '--input-type=module', '-e'];
const look = `import { isKernelLocked } from ${source}; console.log(isKernelLocked(process.argv[1]));`;
const hold = `import { takeKernelLock } from ${source}; takeKernelLock(process.argv[1]); console.log('held'); setInterval(() => {}, 1000);`;

let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'hermetic-kernel-lock-'));
  path = join(directory, 'lock');
});
afterEach(() => rmSync(directory, { recursive: true }));

it('gives the lock to one at a time, also within a program', () => {
  const lock = takeKernelLock(path);
  expect(takeKernelLock(path)).toBeUndefined();
  expect(isKernelLocked(path)).toBe(true);
  expect(takeKernelLock(path)).toBeUndefined();
  expect(readdirSync(directory)).toEqual(['lock']);
  lock?.close();
  expect(isKernelLocked(path)).toBe(false);
  takeKernelLock(path)?.close();
});

it('makes no file by looking at a lock', () => {
  expect(isKernelLocked(path)).toBe(false);
  expect(existsSync(path)).toBe(false);
});

itNeeding(['processes'], 'shows the lock to other process namespaces until its program is killed', async () => {
  const program = spawn(node[0] ?? '', [...node.slice(1), hold, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(program.stdout, 'data');
  const seen = () => execFileSync('env', [...elsewhere, ...node, look, path], { encoding: 'utf8' }).trim();
  expect(seen()).toBe('true');
  program.kill('SIGKILL');
  await once(program, 'exit');
  expect(seen()).toBe('false');
});
