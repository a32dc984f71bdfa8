/**
 * How long it takes to judge a command before it runs, by itself: `node bench/judge.ts` prints the table of bench/RESULTS.md and fails when a
 * command of 10 KB takes 20 ms or more.
 */
import { judge } from '../src/bash-judge/index.ts';
import { cwd, dangerousCommands, harmlessCommands, local } from '../test/bash-judge/corpus.ts';
import { median, quantile, row } from './figures.ts';

const limitMs = 20;
const rounds = 200;

/** Ten kilobytes of what commands are made of. */
function tenKilobytes(lines: readonly string[]): string {
  let text = '';
  for (let at = 0; text.length < 10_240; at++) text += `${lines[at % lines.length]}\n`;
  return text;
}

/** What can stand beside other commands, one a line. */
const oneLiners = (texts: readonly string[]): readonly string[] =>
  texts.filter((text) => !/\n|<<|unterminated|if true; then ls|rm -rf "$|\u202e/.test(text));

const commands = new Map([
  ['`ls -la`', 'ls -la'],
  ['a pipeline with a loop', 'for f in src/*.ts; do grep -n TODO "$f" | sort | head -3; done && git status --short'],
  ['10 KB of everyday commands', tenKilobytes(oneLiners(harmlessCommands()))],
  ['10 KB of dangerous commands', tenKilobytes(oneLiners(dangerousCommands().map(({ command }) => command)))],
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
    judge({ kind: 'command', command, cwd }, local);
    if (round >= 20) times.push(performance.now() - start);
  }
  const ms = (value: number) => `${value.toFixed(2)} ms`;
  console.log(row(name, ms(median(times)), ms(quantile(times, 0.95)), ms(Math.max(...times))));
  if (median(times) >= limitMs) process.exitCode = 1;
}
