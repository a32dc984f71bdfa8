import { markdownTokens } from '../../lib/markdown-tokens.ts';
import { type Markup, written } from '../markup.ts';

/** One text in the two forms in which it can be sent. */
export interface Formatted {
  /** undefined when it is better sent as it is. */
  html: string | undefined;
  plain: string;
}

/** The largest HTML that Telegram parses. */
const maxHtmlBytes = 32_768;

/** Of one message. Ordinary text takes a tenth; while this many are taken the gateway does nothing else. */
const maxSteps = 300_000;

/** CommonMark as Telegram's HTML, of which no more than this many UTF-16 units are visible. Nothing of the text is ever markup of its own. */
export function format(markdown: string, maxVisible: number): Formatted {
  // Telegram refuses a text with half a character in it, and an answer would be lost.
  const plain = markdown.toWellFormed();
  const tokens = markdownTokens(plain, { breaks: false, maxSteps });
  if (tokens === undefined) return { html: undefined, plain };
  for (const alignTables of [true, false]) {
    const html = written(tokens, telegramHtml, alignTables);
    const visible = visibleLength(html);
    if (visible > 0 && visible <= maxVisible && Buffer.byteLength(html) <= maxHtmlBytes) return { html, plain };
  }
  return { html: undefined, plain };
}

export function visibleLength(html: string): number {
  return html.replace(/<[^>]*>/g, '').replace(/&(lt|gt|amp|quot);/g, '&').length;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

const telegramHtml: Markup = {
  text: escaped,
  strong: (inner) => `<b>${inner}</b>`,
  emphasis: (inner) => `<i>${inner}</i>`,
  struck: (inner) => `<s>${inner}</s>`,
  code: (text) => `<code>${escaped(text)}</code>`,
  codeBlock: (text, language) =>
    language === undefined
      ? `<pre>${escaped(text)}</pre>`
      : `<pre><code class="language-${escaped(language)}">${escaped(text)}</code></pre>`,
  heading: (inner) => `<b>${inner}</b>`,
  quote: (inner) => `<blockquote>${inner}</blockquote>`,
  bullet: '•',
  link: (href, label) => `<a href="${escaped(href).replaceAll('"', '&quot;')}">${label}</a>`,
  isPreformatted: (written) => written.includes('<pre>'),
};
