import { describe, expect, it } from 'vitest';
import { applyEdits, type Edit } from '../../src/tools/files/edits.ts';

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
  it('replaces one match, within a line or over several', () => {
    expect(edited('one two three', edit('two', '2'))).toBe('one 2 three');
    expect(edited('a\nb\nc\n', edit('a\nb', 'x'))).toBe('x\nc\n');
    expect(edited('a\nb\nc\n', edit('b\n', ''))).toBe('a\nc\n');
  });

  it('inserts the new text literally', () => {
    expect(edited('a', edit('a', '$& $1 \\n'))).toBe('$& $1 \\n');
  });

  it('refuses an edit with several matches and names their lines', () => {
    expect(mistake('x\ny\nx\n', edit('x', 'z'))).toMatch(/there 2 times, at lines 1, 3\. Nothing was changed\. .*replace_all/);
    expect(mistake('x\n'.repeat(50), edit('x', 'z'))).toMatch(/there 50 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …/);
  });

  it('replaces all matches when told to', () => {
    expect(applyEdits('x\ny\nx\n', [edit('x', 'xx', true)])).toEqual({
      text: 'xx\ny\nxx\n',
      applied: [{ replacements: 2, matched: 'exact', line: 1 }],
    });
  });

  it('refuses an edit that changes nothing', () => {
    expect(mistake('same', edit('same', 'same'))).toMatch(/are the same/);
  });

  it('refuses an edit that would make the file enormous', () => {
    expect(mistake('a'.repeat(90_000), edit('a', 'b'.repeat(10_000), true))).toMatch(/too large/);
    expect(mistake('a'.repeat(200_000), edit('a', 'bb', true))).toMatch(/so often/);
  });
});

describe('several edits', () => {
  it('applies several edits one after another', () => {
    expect(edited('a b', edit('a', 'b c'), edit('b c', 'd'))).toBe('d b');
  });

  it('names the edit that does not apply', () => {
    expect(mistake('a b', edit('a', 'c'), edit('nothing like it at all', 'd'))).toMatch(/^Edit 2 of 2: old_text is not in the file/);
  });
});

describe('whitespace', () => {
  it('ignores whitespace at the ends of lines', () => {
    expect(applyEdits('if (x) { \n\tgo()\t\n}\n', [edit('if (x) {\n\tgo()\n}', 'stop()')])).toEqual({
      text: 'stop()\n',
      applied: [{ replacements: 1, matched: 'trailing-whitespace', line: 1 }],
    });
  });

  it('ignores indentation and keeps that of the file', () => {
    const file = 'class A {\n    f() {\n        one();\n    }\n}\n';
    expect(edited(file, edit('f() {\n    one();\n}', 'f() {\n    if (x) {\n        two();\n    }\n}'))).toBe(
      'class A {\n    f() {\n        if (x) {\n            two();\n        }\n    }\n}\n',
    );
  });

  it('converts between tabs and spaces of the file and the edit', () => {
    expect(edited('a {\n\tb {\n\t\tc\n\t}\n}\n', edit('  b {\n    c\n  }', '  b {\n    c\n    d {\n      e\n    }\n  }'))).toBe(
      'a {\n\tb {\n\t\tc\n\t\td {\n\t\t\te\n\t\t}\n\t}\n}\n',
    );
    expect(edited('a:\n    b:\n        c\n', edit('\tb:\n\t\tc\n', '\tb:\n\t\tc\n\t\td\n'))).toBe('a:\n    b:\n        c\n        d\n');
    expect(edited('x\n\tone\n', edit('    one', '    one\n        two'))).toBe('x\n\tone\n\t\ttwo\n');
  });

  it('removes indentation that the edit has more than the file', () => {
    expect(edited('one\n  two\n', edit('    one\n      two', '    one\n      2\n    three'))).toBe('one\n  2\nthree\n');
  });

  it('respects whitespace within a line, and refuses an edit of blank lines alone', () => {
    expect(mistake('a  b\n', edit('a b', 'c'))).toMatch(/not in the file/);
    expect(mistake('a\n\n\nb\n', edit(' \n \n', 'c'))).toMatch(/not in the file/);
  });

  it('refuses an edit that matches several lines when indentation is ignored', () => {
    expect(mistake('  a\n    a\n', edit('\ta', 'b'))).toMatch(/there 2 times, at lines 1, 2/);
    expect(edited('  a\n    a\n', edit('\ta', '\tb', true))).toBe('  b\n    b\n');
  });

  it('keeps the end of a file without a newline', () => {
    expect(edited('a\nb', edit('b\n', 'c\n'))).toBe('a\nc');
  });
});

describe('line endings and the byte order mark', () => {
  it('keeps line endings and the byte order mark of the file', () => {
    expect(edited('\uFEFFa\r\nb\r\nc\r\n', edit('a\nb', 'x\ny\nz'))).toBe('\uFEFFx\r\ny\r\nz\r\nc\r\n');
    expect(edited('a\r\nb\r\n', edit('a\r\nb\r\n', 'x\r\n'))).toBe('x\r\n');
    expect(edited('\uFEFFa', edit('a', 'b'))).toBe('\uFEFFb');
  });

  it('keeps mixed line endings of unchanged lines', () => {
    expect(edited('a\nb\r\nc\r\nd\ne\r\n', edit('c', 'x\ny'))).toBe('a\nb\r\nx\r\ny\r\nd\ne\r\n');
    expect(edited('a\nb\nc\r\n', edit('b\nc', 'x\ny'))).toBe('a\nx\ny\r\n');
  });

  it('keeps line endings when it replaces all matches', () => {
    expect(edited('a\r\nb\r\na\r\nb\r\n', edit('a\nb\n', 'c\n', true))).toBe('c\r\nc\r\n');
  });

  it('uses the line endings of the edit in a file without carriage returns', () => {
    expect(edited('a\nb\n', edit('a', 'x\r\ny'))).toBe('x\r\ny\nb\n');
  });
});

describe('text that is not in the file', () => {
  const file = Array.from({ length: 100 }, (_, index) => `const value${index} = compute(${index});`).join('\n');

  it('shows the lines closest to the missing text', () => {
    const wanted = 'const value41 = compute(41);\nconst value42 = computed(42);\nconst value43 = compute(43);';
    expect(mistake(file, edit(wanted, ''))).toMatch(
      /closest part of the file:\n +40\tconst value39.*\n(?:.*\n)* +43\tconst value42 = compute\(42\);\n/,
    );
  });

  it('shows a similar line when none is equal', () => {
    expect(mistake('first thing\nfunction calculateTotal(items) {\nlast thing\n', edit('function calculate_total(items) {', ''))).toMatch(
      /closest part of the file:\n +1\tfirst thing\n +2\tfunction calculateTotal/,
    );
  });

  it('says that nothing in the file is similar', () => {
    expect(mistake('abc\n', edit('zzz qqq', ''))).toMatch(/Nothing in the file is like it/);
  });

  it('detects line numbers in the old text', () => {
    expect(mistake('one\ntwo\n', edit('     1\tone\n     2\ttwo\n', ''))).toMatch(/line numbers.* leave them out/);
  });

  it('searches for similar lines in bounded time', () => {
    const started = performance.now();
    mistake('a \n'.repeat(1_000_000), edit(`${'a\n'.repeat(300_000)}b`, ''));
    mistake(
      `${'some words of prose that are like others, on and on\n'.repeat(100_000)}`,
      edit('some words of prose that are like others, but', ''),
    );
    expect(performance.now() - started).toBeLessThan(90_000);
  });
});
