import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { stripVTControlCharacters } from 'node:util';
import { afterEach } from 'vitest';
import { shellQuote } from '../../src/lib/shell-quote.ts';
import { bin } from '../bin.ts';
import { until } from '../until.ts';
import type { Hermetic } from './hermetic.ts';

const terminals: ChildProcess[] = [];

/** The program at a real terminal, ended with the test. */
export function atTerminal(hermetic: Hermetic, args: readonly string[], environment: Record<string, string> = {}) {
  const line = `stty cols 100 rows 40; exec ${[process.execPath, bin, ...args].map(shellQuote).join(' ')}`;
  const child = spawn('script', ['-qec', line, '/dev/null'], {
    env: { ...hermetic.environment, TERM: 'xterm', SHELL: '/bin/sh', ...environment },
    stdio: 'pipe',
    cwd: hermetic.home,
  });
  terminals.push(child);
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  const exit = once(child, 'close').then(([code]) => code as number);
  const text = (): string => stripVTControlCharacters(shown);
  return {
    exit,
    /** Of the terminal, whose child the program is. */
    pid: child.pid,
    /** Everything that was ever shown, without what moves it around. */
    text,
    raw: () => shown,
    sees: (what: string | RegExp, after = 0) =>
      until(`${what} is shown, not only ${JSON.stringify(text().slice(-400))}`, () =>
        typeof what === 'string' ? text().slice(after).includes(what) : what.test(text().slice(after)),
      ),
    type: (keys: string) => child.stdin.write(keys),
    /** As a person does, when what it showed is read. Resolves when nothing of it is left to write files. */
    leave: async (): Promise<number> => {
      child.stdin.write('\u0004');
      return await exit;
    },
  };
}

afterEach(() => {
  for (const child of terminals.splice(0)) child.kill('SIGKILL');
});
