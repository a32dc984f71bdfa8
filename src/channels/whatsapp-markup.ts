import { markdownTokens } from '../lib/markdown-tokens.ts';
import { type Markup, written } from './markup.ts';

/** Of one message, as for Telegram. */
const maxSteps = 300_000;

/** WhatsApp has no way to escape a sign. A sign with this character, which nobody sees, beside it stands at no edge of a word and means nothing. */
const unseen = '\u200b';

/**
 * CommonMark as WhatsApp shows it, no longer than this many UTF-16 units when the source is not. Nothing of the text is markup of WhatsApp's own, as
 * long as there is room to say so.
 */
export function whatsAppText(markdown: string, maxLength: number): string {
  const plain = markdown.toWellFormed();
  const tokens = markdownTokens(plain, { breaks: false, maxSteps });
  const forms = tokens === undefined ? [] : [true, false].map((alignTables) => written(tokens, whatsAppMarkup, alignTables));
  return forms.find((form) => form !== '' && form.length <= maxLength) ?? plain;
}

/**
 * Signs at an edge of a word, and what begins a list or a quote at the beginning of a line. A sign that was escaped comes alone. Between letters, as
 * in `snake_case`, and between spaces they mean nothing anyway.
 */
function escaped(text: string): string {
  return text
    .replace(/`|(?<![\p{L}\p{N}])[*_~](?!\s)|(?<!\s)[*_~](?![\p{L}\p{N}])/gu, `$&${unseen}`)
    .replace(/^\s*(?:[*>.-]|\d+\.)(?=\s|$)/gm, `$&${unseen}`);
}

/** WhatsApp marks no more than a line. */
const mark = (sign: string) => (inner: string) => inner.replace(/\S(?:.*\S)?/g, `${sign}$&${sign}`);
const bold = mark('*');

const whatsAppMarkup: Markup = {
  text: escaped,
  strong: bold,
  emphasis: mark('_'),
  struck: mark('~'),
  code: codeOf,
  // A fence in the text would end it.
  codeBlock: (text) => `\`\`\`\n${withoutFences(text)}\n\`\`\``,
  // Some of it is bold already.
  heading: (inner) => (inner.includes('*') ? inner : bold(inner)),
  quote: (inner) => inner.replace(/^/gm, '> '),
  bullet: '-',
  link: linkOf,
  isPreformatted: (text) => text.includes('```'),
};

function withoutFences(text: string): string {
  return text.replaceAll('```', `\`${unseen}\`\``);
}

/** Three signs are as good as one, and may have single ones between them. */
function codeOf(text: string): string {
  if (!text.includes('`')) return `\`${text}\``;
  const inner = withoutFences(text).replace(/^`/, `${unseen}$&`).replace(/`$/, `$&${unseen}`);
  return `\`\`\`${inner}\`\`\``;
}

/** Both are shown, so no label hides where a link leads. */
function linkOf(href: string, label: string): string {
  const address = href.replace(/^mailto:/i, '');
  return label.replaceAll(unseen, '') === address ? address : `${label} (${address})`;
}
