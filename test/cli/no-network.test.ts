import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { findProgram } from '../../src/backends/programs.ts';
import { describeBackend } from '../engines.ts';
import { itNeeding } from '../needs.ts';
import { Hermetic } from './hermetic.ts';

const bin = join(import.meta.dirname, '../../bin/hermetic.mjs');
/** For an open network, and for a restricted one. */
const programs = ['slirp4netns', 'nsenter'].flatMap((name) => findProgram(name) ?? []);

await describeBackend('bubblewrap', () => {
  itNeeding(
    ['mount'],
    'chat says that there is no network without slirp4netns and nsenter, and what to run',
    async () => {
      const hermetic = new Hermetic({ TERMINAL_ENV: 'bubblewrap' });
      const hide = programs.map((program) => `mount --bind /dev/null ${program};`).join(' ');
      const child = spawn('unshare', ['--mount', '--', 'sh', '-c', `${hide} exec "$@"`, 'sh', process.execPath, bin, 'chat'], {
        env: hermetic.environment,
        cwd: hermetic.home,
        stdio: 'pipe',
      });
      let shown = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (shown += data.toString()));
      child.stdin.end('/run echo done\n');
      expect((await once(child, 'close'))[0], shown).toBe(0);
      await rm(hermetic.home, { recursive: true, force: true, maxRetries: 10 });
      expect(shown).toContain('This sandbox has no network: slirp4netns is not installed (apt-get install slirp4netns).');
      expect(shown).toContain('done');
    },
    120_000,
  );
});
