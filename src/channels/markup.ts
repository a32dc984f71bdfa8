import type { MarkedToken, Token, Tokens } from 'marked';

/** How a platform writes what Markdown says. Texts that are given inside others are written already. */
export interface Markup {
  /** Plain text. Nothing of it may become markup. */
  text(text: string): string;
  strong(inner: string): string;
  emphasis(inner: string): string;
  struck(inner: string): string;
  code(text: string): string;
  codeBlock(text: string, language: string | undefined): string;
  heading(inner: string, depth: number): string;
  quote(inner: string): string;
  bullet: string;
  /** undefined: the source is shown as text. */
  link(href: string, label: string): string | undefined;
  /** Lines of it stay where they are: an indent would become part of it. */
  isPreformatted(written: string): boolean;
}

interface Style {
  markup: Markup;
  /** Columns under each other, or as they were written, which is never longer. */
  alignTables: boolean;
  /** No platform has quotes in quotes. */
  isQuoted: boolean;
}

/** Markdown in the markup of a platform. HTML in it is shown, not obeyed. */
export function written(tokens: readonly Token[], markup: Markup, alignTables: boolean): string {
  return blocks(tokens, { markup, alignTables, isQuoted: false }).trim();
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
  const { markup, alignTables } = style;
  switch (token.type) {
    case 'code':
      return preformatted(token.text, markup, language(token.lang));
    case 'heading':
      return markup.heading(inline(token.tokens, markup), token.depth);
    case 'blockquote':
      return quote(token, style);
    case 'list':
      return list(token, style);
    case 'table':
      return preformatted(alignTables ? aligned(token) : token.raw.trimEnd(), markup);
    case 'hr':
      return '———';
    case 'def':
      return '';
    case 'html':
      return markup.text(token.raw.trimEnd());
    case 'paragraph':
    case 'text':
      return inline(token.tokens ?? [token], markup);
    default:
      return inline([token], markup);
  }
}

function language(info: string | undefined): string | undefined {
  return info?.match(/^[\w+#.-]{1,40}/)?.[0];
}

function preformatted(text: string, markup: Markup, name?: string): string {
  return text.trim() === '' ? '' : markup.codeBlock(text, name);
}

function quote({ tokens }: Tokens.Blockquote, style: Style): string {
  const inner = blocks(tokens, { ...style, isQuoted: true });
  return style.isQuoted || inner === '' ? inner : style.markup.quote(inner);
}

function list({ ordered, start, loose, items }: Tokens.List, style: Style): string {
  const { bullet: point, isPreformatted } = style.markup;
  const lines = items.map((item, index) => {
    const bullet = ordered ? `${Number(start) + index}.` : point;
    const inner = blocks(item.tokens, style);
    const indented = isPreformatted(inner) ? inner : inner.replaceAll('\n', `\n${' '.repeat(ordered ? bullet.length + 1 : 2)}`);
    return item.task ? indented : `${bullet} ${indented}`.trimEnd();
  });
  return lines.join(loose ? '\n\n' : '\n');
}

function inline(tokens: readonly Token[], markup: Markup): string {
  return (tokens as readonly MarkedToken[]).map((token) => span(token, markup)).join('');
}

function span(token: MarkedToken, markup: Markup): string {
  switch (token.type) {
    case 'strong':
      return markup.strong(inline(token.tokens, markup));
    case 'em':
      return markup.emphasis(inline(token.tokens, markup));
    case 'del':
      return markup.struck(inline(token.tokens, markup));
    case 'codespan':
      return markup.code(token.text);
    case 'br':
      return '\n';
    case 'checkbox':
      return token.checked ? '☑ ' : '☐ ';
    case 'escape':
      return markup.text(token.text);
    case 'image':
      return link(token.href, markup.text(decoded(token.text)) || markup.text(token.href), token.raw, markup);
    case 'link':
      return link(token.autolink ? token.href : decoded(token.href), inline(token.tokens, markup), token.raw, markup);
    case 'text':
      return token.tokens ? inline(token.tokens, markup) : markup.text(decoded(token.text));
    default:
      return markup.text(token.raw);
  }
}

/** Security: only addresses that open a page, a chat or a letter; anything else is shown as it was written. */
function link(href: string, label: string, raw: string, markup: Markup): string {
  const isSafe = /^(https?:\/\/|tg:\/\/|mailto:)[^\s]+$/i.test(href) && label !== '';
  return (isSafe ? markup.link(href, label) : undefined) ?? markup.text(raw);
}

const references: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0' };

/** Character references are part of CommonMark, and not of code in it. */
export function decoded(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(amp|lt|gt|quot|apos|nbsp));/gi, (whole, decimal, hexadecimal, name) => {
    if (name !== undefined) return references[name] ?? whole;
    const point = decimal === undefined ? Number.parseInt(hexadecimal, 16) : Number(decimal);
    return point > 0 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff) ? String.fromCodePoint(point) : whole;
  });
}

export function aligned({ header, rows, align }: Tokens.Table): string {
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
