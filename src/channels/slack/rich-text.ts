import type { MarkedToken, Token, Tokens } from 'marked';
import { markdownTokens } from '../../lib/markdown-tokens.ts';
import { aligned, decoded } from '../markup.ts';
import { escaped } from './entities.ts';
import { maxFallback } from './limits.ts';

interface Style {
  bold?: true;
  italic?: true;
  strike?: true;
  code?: true;
}

interface TextElement {
  type: 'text';
  text: string;
  style?: Style;
}

interface LinkElement {
  type: 'link';
  url: string;
  text?: string;
  style?: Style;
}

type Element = TextElement | LinkElement;

interface Section {
  type: 'rich_text_section';
  elements: Element[];
}

interface List {
  type: 'rich_text_list';
  style: 'bullet' | 'ordered';
  indent: number;
  /** How many come before the first. */
  offset?: number;
  elements: Section[];
}

/** A part of a text in Slack's own structure, in which text is text and nothing of it can be markup, a mention or an address. */
type Part = Section | List | { type: 'rich_text_quote' | 'rich_text_preformatted'; elements: Element[] };

export interface RichText {
  type: 'rich_text';
  elements: Part[];
}

/** Of one message, as for Telegram. */
const maxSteps = 300_000;
/** A table whose columns are under each other may be longer than its source. */
const maxWritten = 8_000;
const maxIndent = 8;
const maxAddress = 2_000;

export interface Formatting {
  /** Whether addresses may be opened by a click. */
  links: boolean;
  /** Shows it as it was written. */
  isPlain?: boolean;
}

/** CommonMark as Slack shows it, and as it is in a notification. */
export function format(markdown: string, formatting: Formatting): { block: RichText; fallback: string } {
  const plain = markdown.toWellFormed();
  const tokens = formatting.isPlain ? undefined : markdownTokens(plain, { breaks: false, maxSteps });
  const forms = tokens === undefined ? [] : [true, false].map((alignTables) => new Writer(formatting, alignTables).write(tokens));
  const fits = (parts: readonly Part[]): boolean => parts.length > 0 && parts.map(plainOf).join('').length <= maxWritten;
  const elements: Part[] = forms.find(fits) ?? [{ type: 'rich_text_section', elements: [{ type: 'text', text: plain }] }];
  return { block: { type: 'rich_text', elements }, fallback: fallbackOf(elements) };
}

/** As much as Slack takes, also when every character of it has to be written as five. */
function fallbackOf(parts: readonly Part[]): string {
  const shown = parts.map(plainOf).join('\n').trim();
  const whole = escaped(shown.slice(0, maxFallback).toWellFormed());
  return whole.length <= maxFallback ? whole : escaped(shown.slice(0, maxFallback / 5).toWellFormed());
}

function plainOf(part: Part): string {
  if (part.type !== 'rich_text_list') return elementsText(part.elements);
  return part.elements
    .map(({ elements }, index) => {
      const mark = part.style === 'bullet' ? '•' : `${(part.offset ?? 0) + index + 1}.`;
      return `${'  '.repeat(part.indent)}${mark} ${elementsText(elements)}`;
    })
    .join('\n');
}

function elementsText(elements: readonly Element[]): string {
  return elements.map((one) => (one.type === 'text' ? one.text : (one.text ?? one.url))).join('');
}

class Writer {
  readonly #formatting: Formatting;
  readonly #alignTables: boolean;
  readonly #parts: Part[] = [];
  /** Before the next text that follows. */
  #gap = '';

  constructor(formatting: Formatting, alignTables: boolean) {
    this.#formatting = formatting;
    this.#alignTables = alignTables;
  }

  write(tokens: readonly Token[]): Part[] {
    this.#blocks(tokens, 0);
    return this.#parts;
  }

  /** As far apart as they were written. */
  #blocks(tokens: readonly Token[], depth: number): void {
    for (const token of tokens as readonly MarkedToken[]) {
      if (token.type === 'space') this.#gap = '\n\n';
      else {
        this.#block(token, depth);
        this.#gap = token.raw.endsWith('\n\n') || token.type === 'heading' ? '\n\n' : '\n';
      }
    }
  }

  #block(token: MarkedToken, depth: number): void {
    switch (token.type) {
      case 'code':
        this.#preformatted(token.text);
        break;
      case 'table':
        this.#preformatted(this.#alignTables ? aligned(token) : token.raw.trimEnd());
        break;
      case 'heading':
        this.#text(this.#inline(token.tokens, { bold: true }));
        break;
      case 'blockquote':
        this.#part({ type: 'rich_text_quote', elements: this.#flat(token.tokens) });
        break;
      case 'list':
        this.#list(token, depth);
        break;
      case 'hr':
        this.#text([{ type: 'text', text: '———' }]);
        break;
      case 'def':
        break;
      default:
        this.#text(this.#inlineBlock(token));
    }
  }

  /** Texts that follow each other are one part, as Slack itself writes them. */
  #text(elements: readonly Element[]): void {
    if (elements.length === 0) return;
    const last = this.#parts.at(-1);
    if (last?.type === 'rich_text_section') last.elements.push({ type: 'text', text: this.#gap || '\n' }, ...elements);
    else {
      const gap: Element[] = last && this.#gap === '\n\n' ? [{ type: 'text', text: '\n' }] : [];
      this.#parts.push({ type: 'rich_text_section', elements: [...gap, ...elements] });
    }
  }

  #part(part: Exclude<Part, Section>): void {
    if (part.elements.length > 0) this.#parts.push(part);
  }

  #preformatted(text: string): void {
    if (text.trim() !== '') this.#part({ type: 'rich_text_preformatted', elements: [{ type: 'text', text }] });
  }

  /** What is no text in an item, such as another list or code, comes after it. */
  #list({ ordered, start, items }: Tokens.List, depth: number): void {
    const first = ordered ? Math.max(Number(start) || 0, 1) : 1;
    let current: List | undefined;
    for (const [index, item] of items.entries()) {
      const texts = item.tokens.filter((token) => isText(token as MarkedToken));
      const others = item.tokens.filter((token) => !isText(token as MarkedToken) && token.type !== 'space');
      const elements = this.#joined(texts);
      if (elements.length > 0) {
        if (!current) {
          const offset = first - 1 + index;
          current = { type: 'rich_text_list', style: ordered ? 'ordered' : 'bullet', indent: Math.min(depth, maxIndent), elements: [] };
          if (ordered && offset > 0) current.offset = offset;
          this.#parts.push(current);
        }
        current.elements.push({ type: 'rich_text_section', elements });
      }
      if (others.length === 0) continue;
      this.#blocks(others, depth + 1);
      current = undefined;
    }
  }

  /** For a quote, which has nothing but text in it. */
  #flat(tokens: readonly Token[]): Element[] {
    return this.#joined(tokens.filter(({ type }) => type !== 'space'));
  }

  #joined(tokens: readonly Token[]): Element[] {
    const all: Element[] = [];
    for (const token of tokens as readonly MarkedToken[]) {
      const isAttached = all.at(-1)?.type === 'text' && /^[☑☐] $/.test((all.at(-1) as TextElement).text);
      const elements = this.#inlineBlock(token);
      if (all.length > 0 && elements.length > 0 && !isAttached) all.push({ type: 'text', text: '\n' });
      all.push(...elements);
    }
    return all;
  }

  #inlineBlock(token: MarkedToken): Element[] {
    switch (token.type) {
      case 'code':
        return textElements(token.text, { code: true });
      case 'table':
        return textElements(token.raw.trimEnd(), { code: true });
      case 'blockquote':
        return this.#flat(token.tokens);
      case 'list':
        return token.items.flatMap((item, index) => {
          const mark = token.ordered ? `${(Number(token.start) || 1) + index}. ` : '• ';
          return [...textElements((index > 0 ? '\n' : '') + (item.task ? '' : mark), {}), ...this.#flat(item.tokens)];
        });
      case 'heading':
        return this.#inline(token.tokens, { bold: true });
      case 'html':
        return textElements(token.raw.trimEnd(), {});
      case 'paragraph':
      case 'text':
        return token.tokens ? this.#inline(token.tokens, {}) : textElements(decoded(token.text), {});
      case 'def':
        return [];
      default:
        return this.#inline([token], {});
    }
  }

  #inline(tokens: readonly Token[], style: Style): Element[] {
    return (tokens as readonly MarkedToken[]).flatMap((token) => this.#span(token, style));
  }

  #span(token: MarkedToken, style: Style): Element[] {
    switch (token.type) {
      case 'strong':
        return this.#inline(token.tokens, { ...style, bold: true });
      case 'em':
        return this.#inline(token.tokens, { ...style, italic: true });
      case 'del':
        return this.#inline(token.tokens, { ...style, strike: true });
      case 'codespan':
        return textElements(token.text, { ...style, code: true });
      case 'br':
        return textElements('\n', style);
      case 'checkbox':
        return textElements(token.checked ? '☑ ' : '☐ ', style);
      case 'escape':
        return textElements(token.text, style);
      case 'image':
        return this.#link(token.href, decoded(token.text) || token.href, token.raw, style);
      case 'link':
        return this.#link(
          token.autolink ? token.href : decoded(token.href),
          elementsText(this.#inline(token.tokens, {})),
          token.raw,
          style,
        );
      case 'text':
        return token.tokens ? this.#inline(token.tokens, style) : textElements(decoded(token.text), style);
      default:
        return textElements(token.raw, style);
    }
  }

  /** Security: only addresses that open a page or a letter, and no label that looks like another address. */
  #link(href: string, label: string, raw: string, style: Style): Element[] {
    const isSafe = /^(https?:\/\/|mailto:)[^\s]+$/i.test(href) && URL.canParse(href) && href.length <= maxAddress;
    if (!isSafe || label === '') return textElements(raw, style);
    const isSame = label === href || `mailto:${label}` === href;
    if (!this.#formatting.links) return textElements(isSame ? label : `${label} (${href})`, style);
    const link: LinkElement = { type: 'link', url: href, ...styled(style) };
    if (isSame) return [{ ...link, text: label }];
    if (/^\s*(https?:|www\.|[\w-]+(\.[\w-]+)+(\/|\s*$))/i.test(label)) {
      return [...textElements(`${label} (`, style), { ...link, text: href }, ...textElements(')', style)];
    }
    return [{ ...link, text: label }];
  }
}

function isText({ type }: MarkedToken): boolean {
  return type === 'text' || type === 'paragraph' || type === 'checkbox' || type === 'heading' || type === 'html';
}

/** Slack refuses a text without characters. */
function textElements(text: string, style: Style): TextElement[] {
  return text === '' ? [] : [{ type: 'text', text, ...styled(style) }];
}

function styled(style: Style): { style?: Style } {
  return Object.keys(style).length > 0 ? { style } : {};
}
