import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { afterAll, expect, it } from 'vitest';
import { describeBackend } from '../engines.ts';
import { atTerminal } from './at-terminal.ts';
import { Hermetic } from './hermetic.ts';

await describeBackend('bubblewrap', () => {
  const hermetic = new Hermetic({ TERMINAL_ENV: 'bubblewrap' });
  afterAll(() => rm(hermetic.home, { recursive: true, force: true, maxRetries: 10 }));

  it('SIGTERM ends a shell at a terminal with 130', async () => {
    const terminal = atTerminal(hermetic, ['shell']);
    await terminal.sees('type exit to leave');
    const shown = terminal.text().length;
    terminal.type('echo is-$((40+2))\r');
    await terminal.sees('is-42', shown);
    const [program = 0] = readFileSync(`/proc/${terminal.pid}/task/${terminal.pid}/children`, 'utf8').trim().split(' ').map(Number);
    process.kill(program, 'SIGTERM');
    expect(await terminal.exit).toBe(130);
  });
});
