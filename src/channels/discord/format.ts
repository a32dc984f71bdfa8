import { markdownTokens } from '../../lib/markdown-tokens.ts';
import { type Markup, written } from '../markup.ts';
import { maxContent } from './limits.ts';

/** Of one message, as for Telegram. */
const maxSteps = 300_000;

/** CommonMark as Discord's Markdown. Nothing of the text is markup of Discord's own, such as a mention, as long as there is room to say so. */
export function format(markdown: string): string {
  const plain = markdown.toWellFormed();
  const tokens = markdownTokens(plain, { breaks: false, maxSteps });
  const forms = tokens === undefined ? [] : [true, false].map((alignTables) => written(tokens, discordMarkdown, alignTables));
  return forms.find((form) => form !== '' && form.length <= maxContent) ?? plain;
}

/** Also what begins a heading, a list, small print or a quote, at the beginning of a line. */
function escaped(text: string): string {
  // It was escaped in the source, so what follows is another piece.
  if (/^[#+-]$/.test(text)) return `\\${text}`;
  return text
    .replace(/[\\*_~`|<>[\]]/g, '\\$&')
    .replace(/^(\s*)(?:(#|-#?)|(\d+)\.)(?=\s)/gm, (_, space, sign, number) =>
      number === undefined ? `${space}\\${sign}` : `${space}${number}\\.`,
    );
}

const mark = (sign: string) => (inner: string) => (inner.trim() === '' ? inner : `${sign}${inner}${sign}`);

const discordMarkdown: Markup = {
  text: escaped,
  strong: mark('**'),
  emphasis: mark('*'),
  struck: mark('~~'),
  code: (text) => (text.includes('`') ? `\`\` ${text.replaceAll('``', '`\u200b`')} \`\`` : `\`${text}\``),
  // A fence in the text would end it.
  codeBlock: (text, language) => `\`\`\`${language ?? ''}\n${text.replaceAll('```', '`\u200b``')}\n\`\`\``,
  heading: (inner, depth) => (depth <= 3 ? `${'#'.repeat(depth)} ${inner}` : `**${inner}**`),
  quote: (inner) => inner.replace(/^/gm, '> '),
  bullet: '-',
  link: linkOf,
  isPreformatted: (text) => text.includes('```'),
};

/** In brackets, so that Discord makes no preview. It shows no link whose label looks like another address. */
function linkOf(href: string, label: string): string | undefined {
  if (/[<>\s]/.test(href)) return undefined;
  const bare = label.replaceAll('\\', '');
  if (bare === href) return `<${href}>`;
  return /https?:\/\//i.test(bare) ? `${label} (<${href}>)` : `[${label}](<${href}>)`;
}
