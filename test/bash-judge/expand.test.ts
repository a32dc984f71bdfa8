import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { parse } from 'unbash';
import { describe, expect, it } from 'vitest';
import { Judgement, Shell } from '../../src/bash-judge/shell.ts';
import { hasPlaceholder } from '../../src/bash-judge/values.ts';
import { runScript } from '../../src/bash-judge/walk.ts';
import { expandWord } from '../../src/bash-judge/words.ts';
import { local } from './corpus.ts';

/** Pieces of words whose meaning is known before anything runs. */
const pieces = [
  ...[
    'a',
    'bc',
    '/',
    '.',
    '-',
    'r',
    'm',
    '""',
    "''",
    '"x y"',
    "'p q'",
    '\\ ',
    '\\m',
    "$'\\x72'",
    "$'a\\tb'",
    '"$A"',
    '$A',
    '\x24{A}',
    '"\x24{B}"',
    '$B',
    '$E',
    '"$E"',
  ],
  ...[
    '\x24{A%b}',
    '\x24{A#a}',
    '\x24{A/b/c}',
    '\x24{A//b/}',
    '\x24{A^^}',
    '\x24{A:1}',
    '\x24{A:0:2}',
    '\x24{N:-d e}',
    '"\x24{N:-d e}"',
    '\x24{A:+z}',
    '\x24{#A}',
    '\x24{!R}',
    '{x,y}',
    '{1..3}',
    '"{x,y}"',
  ],
  ...[
    '$(echo hi)',
    '"$(echo h i)"',
    '$(printf "%s-" a b)',
    '`echo t`',
    '$(echo -n q; echo w)',
    '$((1+2*3))',
    '\x24{L[1]}',
    '"\x24{L[@]}"',
    '\x24{L[*]}',
    '~/',
    '$IFS',
    '"$IFS"',
    '$1',
    '"$@"',
  ],
];
const setup = `A=abcb; B="one two"; E=; R=A; L=(f 'g h' i); set -- p1 'p 2'; HOME=/home/ada; unset N`;

/** The words as the judge sees them, or undefined when it says that it does not know. */
function judged(words: string): string | undefined {
  const shell = new Shell(new Judgement(local, {}), '/tmp');
  runScript(parse(setup), shell, []);
  const command = parse(`show ${words}`).commands[0]?.command;
  if (command?.type !== 'Command') return undefined;
  const choices = command.args.map((word) => (word.type === 'Word' ? expandWord(word, shell) : [['\uE000']]));
  if (choices.some(({ length }) => length !== 1)) return undefined;
  const fields = choices.flatMap(([only]) => only ?? []);
  return fields.some(hasPlaceholder) ? undefined : fields.map((field) => `<${field}>`).join('');
}

function real(words: readonly string[]): string[] {
  const show = `set -f; show() { (($#)) && printf '<%s>' "$@"; printf '\\0'; }`;
  const script = [setup, show, ...words.map((word) => `show ${word}`)].join('\n');
  return execFileSync('bash', { input: script, encoding: 'utf8', cwd: '/tmp' }).split('\0').slice(0, -1);
}

describe('the words of a command', () => {
  it('expands words as bash does, or reports them as unknown', () => {
    const word = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 5 }).map((parts) => parts.join(''));
    const samples = fc.sample(
      fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join(' ')),
      { numRuns: 1_500, seed: 9 },
    );
    const usable = samples.filter((words) => !parse(`show ${words}`).errors?.length);
    const expected = real(usable);
    expect(expected).toHaveLength(usable.length);
    const seen = usable.map((words) => judged(words));
    const wrong = usable.flatMap((words, index) =>
      seen[index] === undefined || seen[index] === expected[index] ? [] : [{ words, bash: expected[index], judged: seen[index] }],
    );
    expect(wrong.slice(0, 10)).toEqual([]);
    expect(seen.filter((text) => text !== undefined).length).toBeGreaterThan(usable.length * 0.4);
  });
});
