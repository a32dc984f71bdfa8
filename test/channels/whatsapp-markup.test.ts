import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { whatsAppText } from '../../src/channels/whatsapp-markup.ts';
import { shownText } from '../fakes/whatsapp-shown-text.ts';

const text = (markdown: string) => whatsAppText(markdown, 4096);
const zero = '\u200b';

describe('Markdown for WhatsApp', () => {
  it.each([
    ['**bold** *italic* ~~gone~~ `code`', '*bold* _italic_ ~gone~ `code`'],
    ['***both***', '_*both*_'],
    ['**two\nlines**', '*two*\n*lines*'],
    ['# Title\ntext', '*Title*\n\ntext'],
    ['# A **bold** title', 'A *bold* title'],
    ['one\n\ntwo', 'one\n\ntwo'],
    ['- a\n- b\n  - c', '- a\n- b\n  - c'],
    ['3. a\n4. b', '3. a\n4. b'],
    ['- [x] done\n- [ ] open', '☑ done\n☐ open'],
    ['> quoted\n> words', '> quoted\n> words'],
    ['> a\n>> b', '> a\n> b'],
    ['```ts\nconst a = `b` * 2;\n```', '```\nconst a = `b` * 2;\n```'],
    ['````\n```\nx\n```\n````', `\`\`\`\n\`${zero}\`\`\nx\n\`${zero}\`\`\n\`\`\``],
    ['``a`b``', '```a`b```'],
    ['`` `a` ``', `\`\`\`${zero}\`a\`${zero}\`\`\``],
    ['a\n\n---\n\nb', 'a\n\n———\n\nb'],
    ['[here](https://example.org/?a=1)', 'here (https://example.org/?a=1)'],
    ['<https://example.org/_a_>', 'https://example.org/_a_'],
    ['https://example.org/_a_/b', 'https://example.org/_a_/b'],
    ['[https://good.example](https://bad.example)', 'https://good.example (https://bad.example)'],
    ['<a@b.example>', 'a@b.example'],
    ['![picture](https://example.org/a.png)', 'picture (https://example.org/a.png)'],
    ['[click](javascript:alert(1))', '[click](javascript:alert(1))'],
    ['<b>a</b> &lt;i&gt; &amp;', '<b>a</b> <i> &'],
    ['snake_case_name 2 * 3 a~b', 'snake_case_name 2 * 3 a~b'],
    ['\\*not bold\\*', `*${zero}not bold*${zero}`],
    ['\\_a\\_ \\~b\\~ \\`c\\`', `_${zero}a_${zero} ~${zero}b~${zero} \`${zero}c\`${zero}`],
    ['\\- a\n\\> b\n1\\. c', `-${zero} a\n>${zero} b\n1.${zero} c`],
    ['| name | size |\n|---|--:|\n| `a` | 1 |', '```\nname │ size\n─────┼─────\na    │    1\n```'],
    ['half \ud83d a character', 'half \ufffd a character'],
  ])("converts %j to WhatsApp's markup", (markdown, expected) => {
    expect(text(markdown)).toBe(expected);
  });

  it.each(['\\*a\\*', '\\_a\\_', '\\~a\\~', '\\`a\\`', '(\\*a\\*)', 'a\\* b\\*', '\\*\\*a\\*\\*'])(
    'shows signs as they are in %s',
    (markdown) => {
      expect(shownText(text(markdown))).toBe(markdown.replaceAll('\\', ''));
    },
  );

  it.each(['**a**', '*a*', '~~a~~', '`a`', '# a', '```\na\n```'])('shows what is marked without its signs in %j', (markdown) => {
    expect(shownText(text(markdown)).trim()).toBe('a');
  });

  it.each([
    ['quotes', '>'.repeat(4000)],
    ['lists', `${'- '.repeat(1900)}x`],
    ['emphasis', '*a_'.repeat(1365)],
  ])('sends Markdown that takes long to parse as it was written, such as many %s', (_, markdown) => {
    expect(text(markdown)).toBe(markdown);
  });

  it.each(['', '   ', '[a]: https://x.y', '```\n```'])('sends Markdown that would show nothing as it was written: %j', (markdown) => {
    expect(text(markdown)).toBe(markdown);
  });

  it('produces no text longer than the limit from any text that is not', () => {
    const pieces = [
      '*',
      '**',
      '_',
      '`',
      '```',
      '\n',
      '> ',
      '- ',
      '1. ',
      '# ',
      '[a](https://a.b)',
      '<b>',
      '|',
      '|-|',
      '~~',
      '\\',
      'word ',
      '😀',
      '\ud83d',
    ];
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constantFrom(...pieces), fc.string({ maxLength: 8 })), { maxLength: 120 }), (parts) => {
        const markdown = parts.join('');
        expect(whatsAppText(markdown, markdown.length).length).toBeLessThanOrEqual(markdown.length);
        expect(text(markdown).isWellFormed()).toBe(true);
      }),
      { numRuns: 1000, seed: 10 },
    );
  });
});
