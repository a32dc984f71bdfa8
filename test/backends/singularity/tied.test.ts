import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { hostBash } from '../../../src/lib/guest-files.ts';

it('keeps only the standard streams of a program that is tied to this one', async () => {
  const listing = 'cd /proc/self/fd && echo *';
  const words = ['-c', await hostBash('tied'), 'tied', '/bin/bash', '-c', listing];
  const child = spawn('/bin/bash', words, { stdio: Array.from({ length: 9 }, () => 'pipe' as const) });
  // The last one is that of the directory, while it is read.
  expect(await text(child.stdout as Readable)).toBe('0 1 2 3\n');
});
