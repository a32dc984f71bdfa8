import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { format, visibleLength } from '../../../src/channels/telegram/format.ts';
import { visibleText } from '../../fakes/bot-api-html.ts';

const html = (markdown: string) => format(markdown, 4096).html;

describe('Markdown for Telegram', () => {
  it.each([
    ['**bold** *italic* ~~gone~~ `code`', '<b>bold</b> <i>italic</i> <s>gone</s> <code>code</code>'],
    ['# Title\ntext', '<b>Title</b>\n\ntext'],
    ['one\n\ntwo', 'one\n\ntwo'],
    ['one\ntwo', 'one\ntwo'],
    ['one  \ntwo', 'one\ntwo'],
    ['- a\n- b\n  - c', '• a\n• b\n  • c'],
    ['3. a\n4. b', '3. a\n4. b'],
    ['- [x] done\n- [ ] open', '☑ done\n☐ open'],
    ['> quoted\n> words', '<blockquote>quoted\nwords</blockquote>'],
    ['> a\n>> b', '<blockquote>a\nb</blockquote>'],
    ['```ts\nconst a = "<b>" && 1;\n```', '<pre><code class="language-ts">const a = "&lt;b&gt;" &amp;&amp; 1;</code></pre>'],
    ['```\nplain &amp;\n```', '<pre>plain &amp;amp;</pre>'],
    ['```ts\nnot closed', '<pre><code class="language-ts">not closed</code></pre>'],
    ['```a"><b>\nx\n```', '<pre><code class="language-a">x</code></pre>'],
    ['text\n- list', 'text\n• list'],
    ['a\n\n---\n\nb', 'a\n\n———\n\nb'],
    ['[here](https://example.org/?a=1&b="2")', '<a href="https://example.org/?a=1&amp;b=&quot;2&quot;">here</a>'],
    ['<https://example.org>', '<a href="https://example.org">https://example.org</a>'],
    ['![picture](https://example.org/a.png)', '<a href="https://example.org/a.png">picture</a>'],
    ['&lt;b&gt; &amp;amp; &#60; &copy;', '&lt;b&gt; &amp;amp; &lt; &amp;copy;'],
    ['\\*not italic\\*', '*not italic*'],
    ['snake_case_name 2*3*4', 'snake_case_name 2<i>3</i>4'],
  ])("converts %j to Telegram's HTML", (markdown, expected) => {
    expect(html(markdown)).toBe(expected);
    expect(() => visibleText(expected)).not.toThrow();
  });

  it.each(['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', 'tg:x', 'vbscript:x', '/relative', 'https:'])(
    'makes no link to %s',
    (address) => {
      expect(html(`[click](${address})`)).toBe(`[click](${address})`);
    },
  );

  it.each(['https://a.b', 'http://a.b', 'tg://user?id=1', 'mailto:a@b.c'])('keeps a link to %s', (address) => {
    expect(html(`[click](${address})`)).toBe(`<a href="${address}">click</a>`);
  });

  it('aligns the columns of a table', () => {
    expect(html('| name | size |\n|---|--:|\n| `a` | 1 |\n| **long** & wide | 100 |')).toBe(
      ['<pre>name        │ size', '────────────┼─────', 'a           │    1', 'long &amp; wide │  100</pre>'].join('\n'),
    );
  });

  it('keeps a table unformatted when alignment would make it too long', () => {
    const table = `|a|b|\n|-|-|\n|${'x'.repeat(500)}|y|\n${'|c|d|\n'.repeat(200)}`.trimEnd();
    expect(html(table)).toBe(`<pre>${table}</pre>`);
  });

  it('escapes HTML in a message', () => {
    expect(html('<b>a</b> <script>x</script>\n\n<div onclick="x">\nblock\n</div>')).not.toMatch(/<(?!\/?(b|i|s|a|pre|code|blockquote)\b)/);
    expect(html('a <b>c</b>')).toBe('a &lt;b&gt;c&lt;/b&gt;');
  });

  it.each(['>'.repeat(4000), `${'- '.repeat(1900)}x`, '1. '.repeat(1300)])(
    'sends Markdown that is nested too deep as plain text, such as %.6s',
    (markdown) => {
      expect(format(markdown, 4096)).toEqual({ html: undefined, plain: markdown });
    },
  );

  it.each(['*a_', '1.*', '~1.', '\\[*', '``a**b\\', '[a](', '<a b="', 'a](_'])(
    'sends Markdown that takes long to parse as plain text, such as %s again and again',
    (piece) => {
      const markdown = piece.repeat(4096 / piece.length);
      expect(format(markdown, 4096)).toEqual({ html: undefined, plain: markdown });
    },
  );

  it('formats a message that is full of emphasis, code and links', () => {
    const line = '- **Name** of `a thing`, *described* with a [link](https://example.org) and ~~more~~ words.\n';
    expect(html(line.repeat(46))).toContain('<b>Name</b> of <code>a thing</code>, <i>described</i>');
    expect(html(line.replace('- ', '').repeat(46))).toContain('<b>Name</b> of <code>a thing</code>, <i>described</i>');
  });

  it.each(['', '   ', '[a]: https://x.y', '```\n```'])('sends Markdown that would show nothing as plain text: %j', (markdown) => {
    expect(html(markdown)).toBeUndefined();
  });

  it("produces well-formed HTML within Telegram's limit from any text", () => {
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
      '[',
      '](',
      'https://a.b',
      ')',
      '<',
      '>',
      '&',
      '&lt;',
      '|',
      '|-|',
      '~~',
      '\\',
      '"',
      'word ',
      '😀',
      '\ud83d',
      '<b>',
      '</b>',
      '![',
      '---',
      '    ',
    ];
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constantFrom(...pieces), fc.string({ maxLength: 8 })), { maxLength: 120 }), (parts) => {
        const markdown = parts.join('');
        const { html: result } = format(markdown, 4096);
        if (result === undefined) return;
        expect(visibleLength(result)).toBe(visibleText(result).length);
        expect(visibleLength(result)).toBeLessThanOrEqual(4096);
      }),
      { numRuns: 2000, seed: 10 },
    );
  });
});
