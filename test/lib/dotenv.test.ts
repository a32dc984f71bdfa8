import { describe, expect, test } from 'vitest';
import { parseDotenv, removeFromDotenv, setInDotenv } from '../../src/lib/dotenv.ts';

function values(text: string): Record<string, string> {
  const { entries, mistakes } = parseDotenv(text);
  expect(mistakes).toEqual([]);
  return Object.fromEntries(entries.map(({ name, value }) => [name, value]));
}

describe('parseDotenv', () => {
  test('reads names and values, with or without export and spaces', () => {
    expect(values('A=1\nexport B=two words\n  C = 3  \r\nD=\n')).toEqual({ A: '1', B: 'two words', C: '3', D: '' });
  });

  test('skips blank lines and comments, and comments after a value', () => {
    expect(values('\uFEFF# top\n\nA=1 # one\n  # indented\nB=# nothing\n')).toEqual({ A: '1', B: '' });
  });

  test('keeps a # inside quotes and inside a word', () => {
    expect(values('A="x # y" # z\nB=\'#\'\nC=a#b\n')).toEqual({ A: 'x # y', B: '#', C: 'a#b' });
  });

  test('resolves escapes between double quotes only', () => {
    expect(values('A="a\\nb\\t\\"c\\" \\$d \\\\ \\q"\nB=\'a\\nb\'\n')).toEqual({ A: 'a\nb\t"c" $d \\ \\q', B: 'a\\nb' });
  });

  test('reads a quoted value of several lines and counts the lines after it', () => {
    const { entries } = parseDotenv('KEY="-----BEGIN\nabc\n-----END"\nB=1\n');
    expect(entries).toEqual([
      { name: 'KEY', value: '-----BEGIN\nabc\n-----END', line: 1, lastLine: 3 },
      { name: 'B', value: '1', line: 4, lastLine: 4 },
    ]);
  });

  test('interpolates no variable in a value', () => {
    expect(values('A=$HOME\nB="$A `id`"\n')).toEqual({ A: '$HOME', B: '$A `id`' });
  });

  test('the later of two entries wins', () => {
    expect(values('A=1\nA=2\n')).toEqual({ A: '2' });
  });

  test('names the line of every mistake and repeats none of it', () => {
    const { entries, mistakes } = parseDotenv('A=1\nhunter2\n1X=hunter2\nB-C=hunter2\nD="x" hunter2\nE=2\nF="hunter2\nG=3\n');
    expect(entries.map((entry) => entry.name)).toEqual(['A', 'E']);
    expect(mistakes.map((mistake) => mistake.line)).toEqual([2, 3, 4, 5, 7]);
    expect(JSON.stringify(mistakes)).not.toContain('hunter2');
    expect(mistakes.at(-1)?.reason).toContain('never closed');
  });

  test('refuses a NUL character', () => {
    expect(parseDotenv('A=x\0y\n').mistakes).toHaveLength(1);
  });
});

describe('setInDotenv', () => {
  test.each(['sk-abc_123', "it's", 'two words', 'a"b$c\\d', '# no comment', 'a\nb', ''])('writes %j so that it is read again', (value) => {
    expect(values(setInDotenv('# mine\nA=1', 'KEY', value))).toEqual({ A: '1', KEY: value });
  });

  test('replaces the existing line and leaves every other unchanged', () => {
    expect(setInDotenv('# mine\nexport KEY = old # why\nB=2\n', 'KEY', 'new')).toBe('# mine\nKEY=new\nB=2\n');
  });

  test('replaces a value of several lines without touching the next entry', () => {
    expect(setInDotenv('KEY="a\nb"\nB=2\n', 'KEY', 'new')).toBe('KEY=new\nB=2\n');
  });

  test('leaves no earlier value of the name behind', () => {
    expect(setInDotenv('KEY=one\n# mine\nKEY="two\nlines"\r\nB=2', 'KEY', 'new')).toBe('# mine\nKEY=new\r\nB=2');
  });

  test.each(['\t\r\n "\' ', '\\n', '\u2028\u0085', '\uFEFFx', "'a'", '""', '$HOME `id`', ' a ', '-----BEGIN\nx==\n-----END'])(
    'stores %j exactly',
    (value) => {
      expect(values(setInDotenv('A=1\n', 'KEY', value))).toEqual({ A: '1', KEY: value });
    },
  );

  test('refuses a file with an unclosed quote, without repeating the value', () => {
    expect(() => setInDotenv('B="open\n', 'KEY', 'hunter2')).toThrow(/^KEY cannot be written into this file without changing more$/);
  });
});

describe('removeFromDotenv', () => {
  test('removes every entry of the name and nothing else', () => {
    const text = '# top\nexport KEY=1\nA="x\ny" # kept\nKEY="2\n3"\n\nB=4';
    expect(removeFromDotenv(text, 'KEY')).toBe('# top\nA="x\ny" # kept\n\nB=4');
    expect(removeFromDotenv(text, 'B')).toBe('# top\nexport KEY=1\nA="x\ny" # kept\nKEY="2\n3"\n\n');
    expect(removeFromDotenv(text, 'C')).toBe(text);
  });
});
