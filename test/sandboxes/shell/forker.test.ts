import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { guestScript } from '../../../src/sandboxes/shell/guest-scripts.ts';

it('a forker ends when its lease is over, also when whoever attached was dead before it was noticed', async () => {
  const run = mkdtempSync(join(tmpdir(), 'hermetic-forker-'));
  mkdirSync(join(run, 'a'));
  execFileSync('mkfifo', ['control', 'a/alive', 'a/events'], { cwd: run });
  writeFileSync(join(run, 'forker.bash'), await guestScript('forker'));
  const forker = spawn('bash', [join(run, 'forker.bash'), run, '1'], { stdio: 'ignore' });
  const ended = once(forker, 'exit');
  // Nobody has the pipe `alive` open for writing, as after a SIGKILL.
  const control = openSync(join(run, 'control'), 'r+');
  writeSync(control, '\nattach a 12345678\n');
  const [code] = await ended;
  closeSync(control);
  expect(code).toBe(0);
  rmSync(run, { recursive: true });
});
