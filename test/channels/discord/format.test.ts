import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { format } from '../../../src/channels/discord/format.ts';
import { maxContent } from '../../../src/channels/discord/limits.ts';
import { shownText } from '../../fakes/discord/shown-text.ts';

describe('Markdown for Discord', () => {
  it.each([
    ['**bold** *italic* ~~gone~~ `code`', '**bold** *italic* ~~gone~~ `code`'],
    ['__also bold__ _also italic_', '**also bold** *also italic*'],
    ['# Title\ntext', '# Title\n\ntext'],
    ['#### Small\ntext', '**Small**\n\ntext'],
    ['- a\n- b\n  - c', '- a\n- b\n  - c'],
    ['3. a\n4. b', '3. a\n4. b'],
    ['- [x] done\n- [ ] open', '☑ done\n☐ open'],
    ['> quoted\n> words', '> quoted\n> words'],
    ['```ts\nconst a = 1;\n```', '```ts\nconst a = 1;\n```'],
    ['[here](https://example.org/?a=1)', '[here](<https://example.org/?a=1>)'],
    ['<https://example.org>', '<https://example.org>'],
    ['https://example.org/a_b', '<https://example.org/a_b>'],
    ['[https://good.example](https://evil.example)', 'https://good.example (<https://evil.example>)'],
    ['[click](javascript:alert(1))', '\\[click\\](javascript:alert(1))'],
    ['snake_case and 2 \\* 3', 'snake\\_case and 2 \\* 3'],
    ['||not a spoiler||', '\\|\\|not a spoiler\\|\\|'],
    ['<@1001> <@&9100> <#6001> <:emoji:1> <t:1:R>', '\\<@1001\\> \\<@&9100\\> \\<#6001\\> \\<:emoji:1\\> \\<t:1:R\\>'],
    ['a\n\\# no heading\n\\- no list', 'a\n\\# no heading\n\\- no list'],
    ['a\n-# no small print', 'a\n\\-# no small print'],
    ['<b>shown</b>', '\\<b\\>shown\\</b\\>'],
  ])("converts %j to Discord's Markdown", (markdown, expected) => {
    expect(format(markdown)).toBe(expected);
  });

  it('a fence in code does not end the code', () => {
    const written = format('````\n```\nrm -rf\n```\n@everyone\n````');
    expect(written.match(/```/g)).toHaveLength(2);
    expect(written.endsWith('```')).toBe(true);
  });

  it('never makes a text longer than Discord takes that was not', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('*', '_', '`', '<', '@', '|', '\\', 'a', '\n', '#', '- ', '[x](https://y.z)'), maxLength: 600 }),
        (text) => {
          const source = text.slice(0, maxContent);
          expect(format(source).length).toBeLessThanOrEqual(maxContent);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('shows the words of a text, whatever signs are in it', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('word', 'a_b', '2*3', '<@1>', '`x`', '~', '|', '@everyone'), { minLength: 1, maxLength: 8 }),
        (words) => {
          const shown = shownText(format(words.join(' ')));
          for (const word of words.filter((one) => /^\w+$/.test(one))) expect(shown).toContain(word);
        },
      ),
      { numRuns: 200 },
    );
  });
});
