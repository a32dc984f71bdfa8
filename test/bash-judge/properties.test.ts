import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judge as judgeAction } from '../../src/bash-judge/index.ts';
import { blindWrappings, cwd, dangerousCommands, isWrappable, local, wrappings } from './corpus.ts';

const judge = (command: string) => judgeAction({ kind: 'command', command, cwd }, local);
const rank = { allow: 0, ask: 1, deny: 2 };

/** What bash is made of, so that random text gets past the first characters of the parser. */
const fragments = [
  ...[
    'rm',
    '-rf',
    '/',
    'echo',
    'a',
    'b=1',
    '$a',
    '"$@"',
    '\x24{a:-x}',
    '\x24{a//x/y}',
    '$(',
    ')',
    '`',
    '"',
    "'",
    "$'\\x41'",
    '\\',
    '\n',
    ' ',
    ';',
    '&',
    '&&',
    '||',
    '|',
    '|&',
  ],
  ...[
    '(',
    '{',
    '}',
    '((',
    '))',
    '[[',
    ']]',
    '[',
    ']',
    '<<E',
    '\nE\n',
    '<<<',
    '<(',
    '>(',
    '>',
    '>>',
    '2>&1',
    '<&3',
    'if',
    'then',
    'else',
    'fi',
    'for',
    'in',
    'do',
    'done',
  ],
  ...[
    'while',
    'case',
    'esac',
    ';;',
    'function',
    'f()',
    'coproc',
    'time',
    '!',
    'sh',
    '-c',
    'eval',
    'xargs',
    'find',
    '-exec',
    '{}',
    '\\;',
    'sudo',
    'env',
    'curl',
    'base64',
    '-d',
  ],
  ...[
    '{a,b}',
    '{1..9}',
    '*',
    '?',
    '~',
    '#',
    '$((',
    '1+2',
    '@(',
    'python3',
    'git',
    'push',
    'set',
    '--',
    'alias',
    'x=',
    'export',
    'local',
    'read',
    '\uE000',
    '\u0000',
    'é',
    '🙂',
  ],
];

describe('the judge', () => {
  it('judges random text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => rank[judge(text).kind] >= 0),
      { numRuns: 1_500, seed: 10 },
    );
  });

  it('judges random bash', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...fragments), { maxLength: 60 }),
        fc.constantFrom(' ', '', ' ; '),
        (parts, between) => rank[judge(parts.join(between)).kind] >= 0,
      ),
      { numRuns: 2_500, seed: 10 },
    );
  });

  it('judges joined pieces of the corpus', () => {
    const commands = dangerousCommands().map(({ command }) => command);
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...commands), { minLength: 1, maxLength: 6 }),
        fc.constantFrom('; ', ' | ', ' && ', '\n', '$(', '"'),
        (parts, between) => rank[judge(parts.join(between)).kind] >= 0,
      ),
      { numRuns: 500, seed: 10 },
    );
  });

  it.each([
    ['parentheses', '('.repeat(10_000)],
    ['closed parentheses', `${'('.repeat(5_000)}ls${')'.repeat(5_000)}`],
    ['substitutions', '$('.repeat(10_000)],
    ['closed substitutions', `${'$('.repeat(200)}ls${')'.repeat(200)}`],
    ['quoted substitutions', '"$('.repeat(5_000)],
    ['backquotes', '`'.repeat(9_999)],
    ['braces', '{a,'.repeat(20_000)],
    ['small braces', '{a,b}'.repeat(1_000)],
    ['groups', '{ '.repeat(10_000)],
    ['conditions', 'if '.repeat(10_000)],
    ['loops', `${'while true; do '.repeat(60)} ls ${'; done'.repeat(60)}`],
    ['expansions', '\x24{a:-'.repeat(10_000)],
    ['here-documents', '<<A '.repeat(5_000)],
    ['tests', '[[ ( '.repeat(5_000)],
    ['patterns', '@('.repeat(10_000)],
    ['arithmetic', '$(('.repeat(10_000)],
    ['shells', 'sh -c "'.repeat(2_000)],
    ['wrappers', `${'sudo '.repeat(10_000)}ls`],
    ['evaluations', `${'eval '.repeat(10_000)}ls`],
    ['functions', `f() { f; f; }; ${'f; '.repeat(5_000)}`],
    ['functions that call each other', `${Array.from({ length: 200 }, (_, n) => `f${n}() { f${n + 1}; f${n + 1}; }`).join('; ')}; f0`],
    ['variables that double', Array.from({ length: 60 }, (_, n) => `a${n + 1}=$a${n}$a${n}`).join('; ')],
    [
      'choices that multiply',
      Array.from({ length: 40 }, (_, n) => `[ $x ] && v${n}=/a || v${n}=/b`).join('; ') +
        `; rm ${Array.from({ length: 40 }, (_, n) => `$v${n}`).join(' ')}`,
    ],
    ['branches with many variables', Array.from({ length: 800 }, (_, n) => `a${n}=${n} && b${n}=${n}`).join('; ')],
    ['stars', `rm ${'*a'.repeat(3_000)}; cat /${'*'.repeat(90)}b`],
    ['a long word', `echo ${'a'.repeat(60_000)}`],
    ['a megabyte', 'echo hi; '.repeat(120_000)],
    ['directories', 'cd a; cd -; pushd b; '.repeat(3_000)],
    ['lists', `cp ${'a=b:c,d@e,'.repeat(6_000)}`],
    ['many words', `rm ${'a '.repeat(30_000)}`],
    ['many commands', 'ls -la /tmp | grep x\n'.repeat(3_000)],
    [
      'regular expressions',
      `python3 -c "${'open('.repeat(1_500)}"; sed '${'s/a/'.repeat(2_000)}'; psql -c "${'update a set '.repeat(1_000)}"`,
    ],
    ['volumes', `docker run ${'-v'.repeat(20_000)}; docker ${'-v '.repeat(10_000)}`],
    ['words of a rule', `kubectl ${'get '.repeat(5_000)}${'secret '.repeat(5_000)}`],
    ['statements', `psql -c "${'update drop '.repeat(3_000)}${'create function '.repeat(1_000)}"`],
    ['names', `cat ${'private'.repeat(8_000)}; cat ${'.ssh/'.repeat(800)}`],
    ['code', `perl -e '${'s/a/b/;'.repeat(1_000)}'; awk '${'print '.repeat(3_000)}'; node -e "${'a['.repeat(3_000)}"`],
  ])('judges many nested or repeated %s in finite time', (_name, command) => {
    expect(rank[judge(command).kind]).toBeGreaterThanOrEqual(0);
  });

  it('asks about a command that is too long to judge', () => {
    expect(judge(`echo ${'a'.repeat(1_000_000)}`)).toMatchObject({ kind: 'ask', findings: [{ rule: 'shell/too-complex' }] });
  });

  it.each([
    ['the parameters', `set -- ${'x '.repeat(100)}; ${'echo "$@"; '.repeat(500)}`],
    ['an array', `a=(${'x '.repeat(100)}); ${'echo "\x24{a[@]}"; '.repeat(500)}`],
    ['an array that grows', `a=(${'x '.repeat(10)}); ${'a=("\x24{a[@]}" "\x24{a[@]}"); '.repeat(13)}`],
    ['patterns', `rm ${'x* '.repeat(6_000)}`],
    ['a list that is looked through', `set -- ${'x '.repeat(2_000)}; ${'echo $2; '.repeat(1_000)}`],
  ])('counts %s by how much there is to look at', (_name, text) => {
    expect(judge(text)).toMatchObject({
      kind: 'ask',
      findings: expect.arrayContaining([expect.objectContaining({ rule: 'shell/too-complex' })]),
    });
  });

  it('never judges a quoted command as safer', () => {
    const plain = dangerousCommands().filter(
      ({ command }) => /^[\w./ -]+$/.test(command) && !/^(?:time|coproc|if|for|while) /.test(command),
    );
    expect(plain.length).toBeGreaterThan(100);
    const quotes: ((word: string) => string)[] = [
      (word) => word,
      (word) => `'${word}'`,
      (word) => `"${word}"`,
      (word) => `${word.slice(0, 1)}''${word.slice(1)}`,
      (word) => `\\${word}`,
      (word) => `$'${word}'`,
      (word) => `"${word.slice(0, 1)}"'${word.slice(1)}'`,
      (word) => `$'${[...word].map((character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`).join('')}'`,
    ];
    fc.assert(
      fc.property(
        fc.constantFrom(...plain),
        fc.array(fc.nat(quotes.length - 1), { minLength: 12, maxLength: 12 }),
        ({ command }, choices) => {
          const quoted = command
            .split(' ')
            .map((word, index) => (word === '' ? word : quotes[choices[index % 12] ?? 0]?.(word)))
            .join(' ');
          expect(rank[judge(quoted).kind], quoted).toBeGreaterThanOrEqual(rank[judge(command).kind]);
        },
      ),
      { numRuns: 2_000, seed: 10 },
    );
  });

  it('never judges a wrapped command as safer', () => {
    const commands = dangerousCommands().filter(({ command }) => isWrappable(command));
    // With what stands behind them these become complete.
    const bad = /unterminated|^if true; then ls$|"$/;
    fc.assert(
      fc.property(
        fc.constantFrom(...commands.filter(({ command }) => !bad.test(command))),
        fc.constantFrom(...wrappings),
        ({ command }, around) => {
          expect(rank[judge(around(command)).kind], around(command)).toBeGreaterThanOrEqual(rank[judge(command).kind]);
        },
      ),
      { numRuns: 2_000, seed: 10 },
    );
  });

  it('asks about a wrapper that hides its command', () => {
    const commands = dangerousCommands().filter(({ command }) => isWrappable(command));
    const allowed = commands
      .flatMap(({ command }) => blindWrappings.map((around) => around(command)))
      .filter((command) => judge(command).kind === 'allow');
    expect(allowed).toEqual([]);
  });
});
