import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { marked } from 'marked';
import { describe, expect, it } from 'vitest';
import { markdownTokens } from '../../src/lib/markdown-tokens.ts';

const maxSteps = 1_000_000;
/** As long as an answer can be. */
const length = 57_000;
const repeated = (piece: string) => piece.repeat(Math.ceil(length / piece.length));

/** What takes `marked` long, most of it for minutes at this length. */
const hostile: Record<string, string> = {
  'emphasis that never closes': repeated('*a_'),
  'emphasis that opens': repeated('*a **a '),
  'emphasis between numbers': repeated('1.*'),
  underscores: repeated('_a __a '),
  tildes: repeated('~a ~~b'),
  'quotes in quotes': `${repeated('> ')}a\nb`,
  'quotes in quotes on many lines': `${'> '.repeat(500)}a\n`.repeat(57),
  'lists in lists': `${repeated('- ')}x`,
  'numbered lists in lists': repeated('1. '),
  brackets: `${repeated('[')}${repeated(']')}`,
  'brackets that are escaped': `${repeated('\\[')}*a`,
  'links in links': repeated('[a]('),
  'links that never close': `${repeated('[a](b')})`,
  'pictures in links': repeated('![[]()'),
  'references to nothing': `${repeated('[a][b]')}*\n\n[b]: /x`,
  'backticks of growing length': Array.from({ length: 330 }, (_, count) => `${'`'.repeat(count + 1)} a `).join(''),
  'backticks and backslashes': repeated('``a**b\\'),
  'tags that never close': repeated('<a b="'),
  comments: `a ${repeated('<!--a')}`,
  'processing instructions': `a ${repeated('<?a')}`,
  'one word': repeated('a'),
  'one address': `https://${repeated('a](')}`,
  'mail addresses': repeated('a@'),
  spaces: `a${repeated(' ')}_b`,
  'blank lines': `a${repeated('\n \t')}b`,
  'a table of many cells': `${'|a'.repeat(9000)}\n${'|-'.repeat(9000)}\n${'a\n'.repeat(9000)}`,
};

describe('Markdown within a budget', () => {
  const documents = globSync([
    'README.md',
    'CHANGELOG.md',
    'docs/**/*.md',
    'bench/*.md',
    'node_modules/{diff,hono,marked,preact,yaml,zod}/*.md',
  ]);

  it('parses documents like the unlimited parser', () => {
    expect(documents.length).toBeGreaterThan(20);
    for (const path of documents) {
      const text = readFileSync(path, 'utf8').slice(0, length);
      expect(markdownTokens(text, { breaks: true, maxSteps }), path).toEqual(marked.lexer(text, { gfm: true, breaks: true }));
    }
  });

  it('takes a few steps per character of ordinary text', () => {
    const paragraph = 'A *word* and `code`, a [link](https://example.org), **strong** words.\n\n- one\n- two\n\n';
    for (const times of [10, 100, 1000]) {
      const text = paragraph.repeat(times);
      expect(markdownTokens(text, { breaks: true, maxSteps: 20 * text.length })).toBeDefined();
    }
  });

  it('gives up at the step limit, however the text is arranged', () => {
    // A process of its own, because nothing ends an expression that runs. Without a budget the first of them takes longer than all may.
    const path = fileURLToPath(new URL('../../src/lib/markdown-tokens.ts', import.meta.url));
    const script = `import { markdownTokens } from ${JSON.stringify(path)};
      import { readFileSync } from 'node:fs';
      for (const [name, text] of Object.entries(JSON.parse(readFileSync(0, 'utf8'))))
        console.log(JSON.stringify([name, markdownTokens(text, { breaks: true, maxSteps: ${maxSteps} }) !== undefined]));`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      input: JSON.stringify(hostile),
      encoding: 'utf8',
      timeout: 120_000,
    });
    const parsed = stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as [string, boolean]);
    expect(
      parsed.map(([name]) => name),
      stderr,
    ).toEqual(Object.keys(hostile));
    expect(parsed.filter(([, isRead]) => isRead).map(([name]) => name)).toEqual([]);
  }, 150_000);
});
