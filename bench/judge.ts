/**
 * How long it takes to judge a command before it runs, by itself and beside another session: `node bench/judge.ts`
 * prints the tables of bench/RESULTS.md and fails when a command of 10 KB takes 20 ms or more, or `ls` waits more than
 * 800 ms for another session.
 */
import { JudgeThread, judge } from '../src/bash-judge/index.ts';
import { cwd, dangerousCommands, harmlessCommands, local } from '../test/bash-judge/corpus.ts';
import { median, quantile, row } from './figures.ts';

const limitMs = 20;
const waitLimitMs = 800;
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

/** The texts that take the judge longest, of all that were found: lists, patterns, choices, many words. */
const worst = [
  `set -- ${'x '.repeat(25_000)}; ${'echo "$@"; '.repeat(1_200)}`,
  `a=(${'x '.repeat(900)}); ${'a=("\x24{a[@]}" "\x24{a[@]}"); '.repeat(4)}${'echo "\x24{a[@]}"; '.repeat(2_000)}`,
  `rm ${'.* '.repeat(21_000)}`,
  `rm ${Array.from({ length: 9_000 }, (_, at) => `.${at}*`).join(' ')}`,
  `echo ${'~ '.repeat(32_000)}`,
  `ls ${'-l '.repeat(21_000)}`,
  `for i in a b c d e f g h; do for j in a b c d e f g h; do echo ${'$i$j '.repeat(12_000)}; done; done`,
  `x=${'a'.repeat(30_000)}; ${'ls $x; '.repeat(4_500)}`,
  `set -- ${'x '.repeat(15_000)}; ${'shift; '.repeat(4_500)}`,
  `sed '${'s/a/b/;'.repeat(9_000)}'`,
];

const thread = new JudgeThread();
const judgeIn = (session: string, command: string) => thread.judge({ kind: 'command', command, cwd }, { ...local, session });

async function waited(besides: readonly string[]): Promise<number> {
  const others = besides.map((command) => judgeIn('other', command));
  const start = performance.now();
  await judgeIn('own', 'ls -la');
  const ms = performance.now() - start;
  await Promise.all(others);
  return ms;
}

console.log();
console.log(row('`ls -la`, by the thread', 'median', 'slowest'));
console.log(row('---', '---', '---'));
for (const [name, besides] of [
  ['alone', []],
  ['beside ten of the worst commands of another session', worst],
] as const) {
  const times: number[] = [];
  for (let round = 0; round < 30; round++) {
    // Each of them is once the one that is being judged.
    const turn = round % Math.max(1, besides.length);
    times.push(await waited([...besides.slice(turn), ...besides.slice(0, turn)]));
  }
  // The first one starts the thread.
  const counted = times.slice(1);
  console.log(row(name, `${median(counted).toFixed(1)} ms`, `${Math.max(...counted).toFixed(1)} ms`));
  if (Math.max(...counted) > waitLimitMs) process.exitCode = 1;
}
