import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const client = fileURLToPath(new URL('./no-files-left.ts', import.meta.url));

it('survives running out of file descriptors when it starts processes', async () => {
  const { stdout } = await promisify(execFile)('bash', ['-c', 'ulimit -n 80; exec "$0" "$1"', process.execPath, client]);
  const lines = stdout.trim().split('\n');
  expect(lines.at(-1)).toBe('alive');
  // What promises to answer does, and what cannot be done is said.
  expect(lines).not.toContain('check rejected');
  expect(lines).not.toContain('enforcement rejected');
  expect(lines).toContain('size rejected');
}, 60_000);
