import type { MarkedToken, Token, Tokens } from 'marked';
import { markdownTokens } from '../../lib/markdown-tokens.ts';

/** One text in the two forms in which it can be sent. */
export interface Formatted {
  /** undefined when it is better sent as it is. */
  html: string | undefined;
  plain: string;
}

interface Style {
  /** Columns under each other, or as they were written, which is never longer. */
  alignTables: boolean;
  /** Telegram has no quote in a quote. */
  isQuoted: boolean;
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
    const html = blocks(tokens, { alignTables, isQuoted: false }).trim();
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

/** As far apart as they were written, so that the result is not longer than the source. */
function blocks(tokens: readonly Token[], style: Style): string {
  let result = '';
  let gap = '';
  for (const token of tokens as readonly MarkedToken[]) {
    if (token.type === 'space') gap = result === '' ? '' : '\n\n';
    else {
      const text = block(token, style);
      if (text === '') continue;
      result += gap + text;
      gap = token.type === 'checkbox' ? '' : token.raw.endsWith('\n\n') || token.type === 'heading' ? '\n\n' : '\n';
    }
  }
  return result;
}

function block(token: MarkedToken, style: Style): string {
  switch (token.type) {
    case 'code':
      return preformatted(token.text, language(token.lang));
    case 'heading':
      return `<b>${inline(token.tokens)}</b>`;
    case 'blockquote':
      return quote(token, style);
    case 'list':
      return list(token, style);
    case 'table':
      return preformatted(style.alignTables ? aligned(token) : token.raw.trimEnd());
    case 'hr':
      return '———';
    case 'def':
      return '';
    case 'html':
      return escaped(token.raw.trimEnd());
    case 'paragraph':
    case 'text':
      return inline(token.tokens ?? [token]);
    default:
      return inline([token]);
  }
}

function language(info: string | undefined): string | undefined {
  return info?.match(/^[\w+#.-]{1,40}/)?.[0];
}

function preformatted(text: string, name?: string): string {
  if (text.trim() === '') return '';
  return name === undefined ? `<pre>${escaped(text)}</pre>` : `<pre><code class="language-${escaped(name)}">${escaped(text)}</code></pre>`;
}

function quote({ tokens }: Tokens.Blockquote, style: Style): string {
  const inner = blocks(tokens, { ...style, isQuoted: true });
  if (style.isQuoted || inner === '') return inner;
  return `<blockquote>${inner}</blockquote>`;
}

function list({ ordered, start, loose, items }: Tokens.List, style: Style): string {
  const lines = items.map((item, index) => {
    const bullet = ordered ? `${Number(start) + index}.` : '•';
    const inner = blocks(item.tokens, style);
    // Lines of what is preformatted stay where they are: the indent would become part of it.
    const indented = inner.includes('<pre>') ? inner : inner.replaceAll('\n', `\n${' '.repeat(ordered ? bullet.length + 1 : 2)}`);
    return item.task ? indented : `${bullet} ${indented}`.trimEnd();
  });
  return lines.join(loose ? '\n\n' : '\n');
}

function inline(tokens: readonly Token[]): string {
  return (tokens as readonly MarkedToken[]).map(span).join('');
}

function span(token: MarkedToken): string {
  switch (token.type) {
    case 'strong':
      return `<b>${inline(token.tokens)}</b>`;
    case 'em':
      return `<i>${inline(token.tokens)}</i>`;
    case 'del':
      return `<s>${inline(token.tokens)}</s>`;
    case 'codespan':
      return `<code>${escaped(token.text)}</code>`;
    case 'br':
      return '\n';
    case 'checkbox':
      return token.checked ? '☑ ' : '☐ ';
    case 'escape':
      return escaped(token.text);
    case 'image':
      return link(token.href, escaped(decoded(token.text)) || escaped(token.href), token.raw);
    case 'link':
      return link(token.autolink ? token.href : decoded(token.href), inline(token.tokens), token.raw);
    case 'text':
      return token.tokens ? inline(token.tokens) : escaped(decoded(token.text));
    default:
      // HTML is shown, not obeyed.
      return escaped(token.raw);
  }
}

/** Security: only addresses that open a page, a chat or a letter; anything else is shown as it was written. */
function link(href: string, label: string, raw: string): string {
  if (!/^(https?:\/\/|tg:\/\/|mailto:)[^\s]+$/i.test(href) || label === '') return escaped(raw);
  return `<a href="${escaped(href).replaceAll('"', '&quot;')}">${label}</a>`;
}

const references: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0' };

/** Character references are part of CommonMark, and not of code in it. */
function decoded(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(amp|lt|gt|quot|apos|nbsp));/gi, (whole, decimal, hexadecimal, name) => {
    if (name !== undefined) return references[name] ?? whole;
    const point = decimal === undefined ? Number.parseInt(hexadecimal, 16) : Number(decimal);
    return point > 0 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff) ? String.fromCodePoint(point) : whole;
  });
}

function aligned({ header, rows, align }: Tokens.Table): string {
  const texts = [header, ...rows].map((row) => row.map(({ tokens }) => plainOf(tokens)));
  const widths = header.map((_, column) => Math.max(...texts.map((row) => row[column]?.length ?? 0)));
  const lines = texts.map((row) =>
    row
      .map((cell, column) => (align[column] === 'right' ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0)))
      .join(' │ ')
      .trimEnd(),
  );
  lines.splice(1, 0, widths.map((width) => '─'.repeat(width)).join('─┼─'));
  return lines.join('\n');
}

function plainOf(tokens: readonly Token[]): string {
  return (tokens as readonly MarkedToken[])
    .map((token) => {
      if (token.type === 'text' || token.type === 'link') return token.tokens ? plainOf(token.tokens) : decoded(token.text);
      if (token.type === 'strong' || token.type === 'em' || token.type === 'del') return plainOf(token.tokens);
      if (token.type === 'codespan' || token.type === 'escape') return token.text;
      return token.raw;
    })
    .join('')
    .replaceAll('\n', ' ');
}
