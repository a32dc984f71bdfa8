import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { removeTree } from '../../src/backends/sandbox-directory.ts';
import { processName } from '../../src/lib/process-name.ts';
import { claim, liveAttachments } from '../../src/shell/pipes/attachments.ts';
import { itNeeding } from '../needs.ts';

itNeeding(['mount'], 'finds the attached programs although what a dead one left cannot be removed', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'hermetic-attachments-'));
  onTestFinished(() => removeTree(directory));
  const run = join(directory, 'run');
  const child = spawn('sleep', ['1000']);
  const busy = join(run, processName(child.pid), 'busy');
  mkdirSync(busy, { recursive: true });
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4k', 'hermetic', busy]);
  onTestFinished(() => void execFileSync('umount', [busy]));
  const { name, release } = claim(run);
  expect(liveAttachments(run)).toEqual([name]);
  release();
});
