import { describe, expect, it } from 'vitest';
import { applyEdits, type Edit } from '../../src/tools/edits.ts';

const edit = (old_text: string, new_text: string, replace_all = false): Edit => ({ old_text, new_text, replace_all });
const edited = (text: string, ...edits: Edit[]) => applyEdits(text, edits).text;
const mistake = (text: string, ...edits: Edit[]): string => {
  try {
    applyEdits(text, edits);
  } catch (error) {
    const { message, hint } = error as { message: string; hint?: string };
    return `${message} ${hint ?? ''}`;
  }
  return expect.fail('it applied');
};

describe('an exact edit', () => {
  it('replaces one place, within a line or over several', () => {
    expect(edited('one two three', edit('two', '2'))).toBe('one 2 three');
    expect(edited('a\nb\nc\n', edit('a\nb', 'x'))).toBe('x\nc\n');
    expect(edited('a\nb\nc\n', edit('b\n', ''))).toBe('a\nc\n');
  });

  it('does not take anything in the new text for a pattern', () => {
    expect(edited('a', edit('a', '$& $1 \\n'))).toBe('$& $1 \\n');
  });

  it('is refused when there are several places, with their lines', () => {
    expect(mistake('x\ny\nx\n', edit('x', 'z'))).toMatch(/there 2 times, at lines 1, 3\. Nothing was changed\. .*replace_all/);
    expect(mistake('x\n'.repeat(50), edit('x', 'z'))).toMatch(/there 50 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …/);
  });

  it('replaces all places when told to', () => {
    expect(applyEdits('x\ny\nx\n', [edit('x', 'xx', true)])).toEqual({
      text: 'xx\ny\nxx\n',
      applied: [{ replacements: 2, matched: 'exact', line: 1 }],
    });
  });

  it('is refused when it changes nothing', () => {
    expect(mistake('same', edit('same', 'same'))).toMatch(/are the same/);
  });

  it('is refused when the file would become enormous', () => {
    expect(mistake('a'.repeat(90_000), edit('a', 'b'.repeat(10_000), true))).toMatch(/too large/);
    expect(mistake('a'.repeat(200_000), edit('a', 'bb', true))).toMatch(/so often/);
  });
});

describe('several edits', () => {
  it('are applied one after another', () => {
    expect(edited('a b', edit('a', 'b c'), edit('b c', 'd'))).toBe('d b');
  });

  it('say which one does not apply', () => {
    expect(mistake('a b', edit('a', 'c'), edit('nothing like it at all', 'd'))).toMatch(/^Edit 2 of 2: old_text is not in the file/);
  });
});

describe('whitespace', () => {
  it('at the ends of lines is overlooked', () => {
    expect(applyEdits('if (x) { \n\tgo()\t\n}\n', [edit('if (x) {\n\tgo()\n}', 'stop()')])).toEqual({
      text: 'stop()\n',
      applied: [{ replacements: 1, matched: 'trailing-whitespace', line: 1 }],
    });
  });

  it('in front of lines is overlooked, and that of the file kept', () => {
    const file = 'class A {\n    f() {\n        one();\n    }\n}\n';
    expect(edited(file, edit('f() {\n    one();\n}', 'f() {\n    if (x) {\n        two();\n    }\n}'))).toBe(
      'class A {\n    f() {\n        if (x) {\n            two();\n        }\n    }\n}\n',
    );
  });

  it('may be tabs in the file and spaces in the edit, or the other way round', () => {
    expect(edited('a {\n\tb {\n\t\tc\n\t}\n}\n', edit('  b {\n    c\n  }', '  b {\n    c\n    d {\n      e\n    }\n  }'))).toBe(
      'a {\n\tb {\n\t\tc\n\t\td {\n\t\t\te\n\t\t}\n\t}\n}\n',
    );
    expect(edited('a:\n    b:\n        c\n', edit('\tb:\n\t\tc\n', '\tb:\n\t\tc\n\t\td\n'))).toBe('a:\n    b:\n        c\n        d\n');
    expect(edited('x\n\tone\n', edit('    one', '    one\n        two'))).toBe('x\n\tone\n\t\ttwo\n');
  });

  it('that is more in the edit than in the file is taken away', () => {
    expect(edited('one\n  two\n', edit('    one\n      two', '    one\n      2\n    three'))).toBe('one\n  2\nthree\n');
  });

  it('is not overlooked within a line, and nothing but blank lines is no text', () => {
    expect(mistake('a  b\n', edit('a b', 'c'))).toMatch(/not in the file/);
    expect(mistake('a\n\n\nb\n', edit(' \n \n', 'c'))).toMatch(/not in the file/);
  });

  it('does not make one place of several', () => {
    expect(mistake('  a\n    a\n', edit('\ta', 'b'))).toMatch(/there 2 times, at lines 1, 2/);
    expect(edited('  a\n    a\n', edit('\ta', '\tb', true))).toBe('  b\n    b\n');
  });

  it('keeps the end of a file without a newline', () => {
    expect(edited('a\nb', edit('b\n', 'c\n'))).toBe('a\nc');
  });
});

describe('line endings and the byte order mark', () => {
  it('stay as they are in the file', () => {
    expect(edited('\uFEFFa\r\nb\r\nc\r\n', edit('a\nb', 'x\ny\nz'))).toBe('\uFEFFx\r\ny\r\nz\r\nc\r\n');
    expect(edited('a\r\nb\r\n', edit('a\r\nb\r\n', 'x\r\n'))).toBe('x\r\n');
    expect(edited('\uFEFFa', edit('a', 'b'))).toBe('\uFEFFb');
  });

  it('of lines that are not changed stay different where they are', () => {
    expect(edited('a\nb\r\nc\r\nd\ne\r\n', edit('c', 'x\ny'))).toBe('a\nb\r\nx\r\ny\r\nd\ne\r\n');
    expect(edited('a\nb\nc\r\n', edit('b\nc', 'x\ny'))).toBe('a\nx\ny\r\n');
  });

  it('are replaced in all places', () => {
    expect(edited('a\r\nb\r\na\r\nb\r\n', edit('a\nb\n', 'c\n', true))).toBe('c\r\nc\r\n');
  });

  it('are those of the edit in a file without carriage returns', () => {
    expect(edited('a\nb\n', edit('a', 'x\r\ny'))).toBe('x\r\ny\nb\n');
  });
});

describe('text that is not there', () => {
  const file = Array.from({ length: 100 }, (_, index) => `const value${index} = compute(${index});`).join('\n');

  it('leads to the lines that are most like it', () => {
    const wanted = 'const value41 = compute(41);\nconst value42 = computed(42);\nconst value43 = compute(43);';
    expect(mistake(file, edit(wanted, ''))).toMatch(
      /closest part of the file:\n +40\tconst value39.*\n(?:.*\n)* +43\tconst value42 = compute\(42\);\n/,
    );
  });

  it('leads to a similar line when none is the same', () => {
    expect(mistake('first thing\nfunction calculateTotal(items) {\nlast thing\n', edit('function calculate_total(items) {', ''))).toMatch(
      /closest part of the file:\n +1\tfirst thing\n +2\tfunction calculateTotal/,
    );
  });

  it('says so when nothing is like it', () => {
    expect(mistake('abc\n', edit('zzz qqq', ''))).toMatch(/Nothing in the file is like it/);
  });

  it('is told from text with line numbers', () => {
    expect(mistake('one\ntwo\n', edit('     1\tone\n     2\ttwo\n', ''))).toMatch(/line numbers.* leave them out/);
  });

  it('is looked for in bounded time', () => {
    const started = performance.now();
    mistake('a \n'.repeat(1_000_000), edit(`${'a\n'.repeat(300_000)}b`, ''));
    mistake(
      `${'some words of prose that are like others, on and on\n'.repeat(100_000)}`,
      edit('some words of prose that are like others, but', ''),
    );
    expect(performance.now() - started).toBeLessThan(90_000);
  });
});
