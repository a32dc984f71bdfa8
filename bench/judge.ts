/**
 * How long it takes to judge a command before it runs, by itself: `node bench/judge.ts` prints the table of bench/RESULTS.md and fails when a
 * command of 10 KB takes 20 ms or more.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { policy } from '../src/approval/policy.ts';
import type { Circumstances } from '../src/core/approval.ts';
import { median, quantile, row } from './figures.ts';

const limitMs = 20;
const rounds = 200;
const circumstances: Circumstances = {
  disposable: false,
  hostPaths: [],
  source: 'chat',
  role: 'user',
  home: '/home/ada',
  ownPaths: ['/home/ada/.hermetic'],
  definitions: {},
};

/** Ten kilobytes of what commands are made of. */
function tenKilobytes(lines: readonly string[]): string {
  let text = '';
  for (let at = 0; text.length < 10_240; at++) text += `${lines[at % lines.length]}\n`;
  return text;
}

const corpus = (name: string): readonly string[] =>
  readFileSync(join(import.meta.dirname, '../test/approval', name), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !/^#|⏎|<<|unterminated|if true; then ls|rm -rf "$|‮/.test(line))
    .map((line) => line.split('\t').at(-1) ?? '');

const commands = new Map([
  ['`ls -la`', 'ls -la'],
  ['a pipeline with a loop', 'for f in src/*.ts; do grep -n TODO "$f" | sort | head -3; done && git status --short'],
  ['10 KB of everyday commands', tenKilobytes(corpus('harmless.txt'))],
  ['10 KB of dangerous commands', tenKilobytes(corpus('dangerous.txt'))],
  [
    '10 KB written to a file',
    `cat > notes.md <<'END'\n${tenKilobytes(['Some text of a document, with $variables and `code` in it.'])}END\n`,
  ],
  [
    '10 KB of branches and variables',
    tenKilobytes(['if [ -d "$dir" ]; then name="$dir/$x"; else x=\x24{name%/*}; fi; cp "$name" "/tmp/$x"']),
  ],
]);

console.log(row('judging', 'median', 'p95', 'slowest'));
console.log(row('---', '---', '---', '---'));
for (const [name, command] of commands) {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    policy.judge({ kind: 'command', command, cwd: '/home/ada/project' }, circumstances);
    if (round >= 20) times.push(performance.now() - start);
  }
  const ms = (value: number) => `${value.toFixed(2)} ms`;
  console.log(row(name, ms(median(times)), ms(quantile(times, 0.95)), ms(Math.max(...times))));
  if (median(times) >= limitMs) process.exitCode = 1;
}
