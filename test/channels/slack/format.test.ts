import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { format } from '../../../src/channels/slack/rich-text.ts';
import { shownText } from '../../fakes/slack/shown-text.ts';

const parts = (markdown: string, links = true) => format(markdown, { links }).block.elements;
const text = (value: string, ...styles: string[]) => ({
  type: 'text',
  text: value,
  ...(styles.length > 0 && { style: Object.fromEntries(styles.map((style) => [style, true])) }),
});
const section = (...elements: object[]) => ({ type: 'rich_text_section', elements });
const list = (style: string, indent: number, ...items: object[][]) => ({
  type: 'rich_text_list',
  style,
  indent,
  elements: items.map((item) => section(...item)),
});
const pre = (value: string) => ({ type: 'rich_text_preformatted', elements: [text(value)] });

describe('Markdown for Slack', () => {
  it.each<[string, object[]]>([
    [
      '**bold** *italic* ~~gone~~ `code`',
      [
        section(
          text('bold', 'bold'),
          text(' '),
          text('italic', 'italic'),
          text(' '),
          text('gone', 'strike'),
          text(' '),
          text('code', 'code'),
        ),
      ],
    ],
    ['***both***', [section(text('both', 'italic', 'bold'))]],
    ['# Title\ntext', [section(text('Title', 'bold'), text('\n\n'), text('text'))]],
    ['one\n\ntwo', [section(text('one'), text('\n\n'), text('two'))]],
    ['one\ntwo', [section(text('one\ntwo'))]],
    ['- a\n- b\n  - c\n- d', [list('bullet', 0, [text('a')], [text('b')]), list('bullet', 1, [text('c')]), list('bullet', 0, [text('d')])]],
    ['3. a\n4. b', [{ ...list('ordered', 0, [text('a')], [text('b')]), offset: 2 }]],
    ['- [x] done\n- [ ] open', [list('bullet', 0, [text('☑ '), text('done')], [text('☐ '), text('open')])]],
    ['> quoted **words**', [{ type: 'rich_text_quote', elements: [text('quoted '), text('words', 'bold')] }]],
    ['```ts\nconst a = "<b>" && 1;\n```', [pre('const a = "<b>" && 1;')]],
    ['text\n```\ncode\n```\nmore', [section(text('text')), pre('code'), section(text('more'))]],
    ['[here](https://example.org/?a=1&b=2)', [section({ type: 'link', url: 'https://example.org/?a=1&b=2', text: 'here' })]],
    ['<https://example.org>', [section({ type: 'link', url: 'https://example.org', text: 'https://example.org' })]],
    ['&lt;b&gt; &amp;amp; \\*not italic\\*', [section(text('<b> &amp; '), text('*'), text('not italic'), text('*'))]],
    ['a\n\n---\n\nb', [section(text('a'), text('\n\n'), text('———'), text('\n\n'), text('b'))]],
  ])("converts %j to Slack's own structure", (markdown, expected) => {
    expect(parts(markdown)).toEqual(expected);
  });

  it('aligns the columns of a table', () => {
    expect(parts('| name | size |\n|---|--:|\n| `a` | 1 |')).toEqual([pre(['name │ size', '─────┼─────', 'a    │    1'].join('\n'))]);
  });

  it.each([
    '<!channel> <!here> <!everyone>',
    `<@U123> <#C1|x> <!subteam^S1>`,
    '@channel @here',

    ':boom: 10:30:45',
  ])('shows %s as text that rings for nobody', (markdown) => {
    const { block, fallback } = format(markdown, { links: true });
    const all = JSON.stringify(block);
    for (const type of ['user', 'broadcast', 'usergroup', 'channel', 'emoji']) expect(all).not.toContain(`"type":"${type}"`);
    expect(shownText([block])).toBe(markdown);
    expect(fallback).not.toMatch(/[<>]/);
  });

  it.each(['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', 'slack://x', '/relative', 'https://[x', 'https://a:b:c'])(
    'makes no link to %s',
    (address) => {
      expect(parts(`[click](${address})`)).toEqual([section(text(`[click](${address})`))]);
    },
  );

  it.each(['https://bank.example', 'bank.example', 'www.bank.example/login'])('shows where a link with the label %s leads', (label) => {
    expect(shownText([format(`[${label}](https://evil.example)`, { links: true }).block])).toContain('https://evil.example');
  });

  it('writes no link where Slack would look at its address', () => {
    expect(JSON.stringify(parts('[here](https://a.b) <https://c.d>', false))).not.toContain('"link"');
    expect(shownText([format('[here](https://a.b) <https://c.d>', { links: false }).block])).toBe('here (https://a.b) https://c.d');
  });

  it.each(['>'.repeat(4000), `${'- '.repeat(1900)}x`, '*a_'.repeat(1300)])(
    'shows what is too much to parse as it was written: %.6s',
    (markdown) => {
      expect(parts(markdown)).toEqual([section(text(markdown))]);
    },
  );

  it('keeps the text of a notification short enough to be edited, whatever is in it', () => {
    for (const unit of ['&', '<', 'a', '😀', '**b** ']) {
      const { fallback } = format(unit.repeat(4000 / unit.length), { links: true });
      expect(fallback.length).toBeLessThanOrEqual(4000);
      expect(fallback).not.toMatch(/&(?!amp;|lt;|gt;)/);
      expect(fallback.isWellFormed()).toBe(true);
    }
  });

  it('no Markdown becomes more than text, links and lists, or too long', () => {
    const pieces = [
      '*',
      '_',
      '`',
      '~',
      '[a](https://b.c)',
      '\n',
      '- ',
      '1. ',
      '> ',
      '|',
      '```\n',
      '<!channel>',
      '<@U1>',
      'x',
      ' ',
      '#',
      '&',
      '\\',
    ];
    const types = new Set([
      'rich_text',
      'rich_text_section',
      'rich_text_list',
      'rich_text_quote',
      'rich_text_preformatted',
      'text',
      'link',
    ]);
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 200 }), (chosen) => {
        const { block } = format(chosen.join(''), { links: true });
        const check = (one: { type: string; text?: string; elements?: unknown[] }, isTop = false): void => {
          expect(types.has(one.type)).toBe(true);
          if (one.type === 'text' && chosen.join('') !== '') expect(one.text).not.toBe('');
          if (one.elements && !isTop) expect(one.elements.length).toBeGreaterThan(0);
          for (const inner of one.elements ?? []) check(inner as typeof one);
        };
        check(block, true);
        expect(shownText([block]).length).toBeLessThanOrEqual(10_000);
      }),
      { numRuns: 1000 },
    );
  });
});
