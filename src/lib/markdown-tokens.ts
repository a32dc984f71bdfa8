import { Lexer, type MarkedOptions, type Token, Tokenizer, type Tokens, type TokensList } from 'marked';

/** How deep quotes, lists and emphasis may be in each other. */
const maxDepth = 40;
/** So many characters that one expression passes over by itself count as a step. */
const cheapSteps = 32;

export interface MarkdownOptions {
  /** Whether a line break is kept where it was written. */
  breaks: boolean;
  /** One step is about one character that a rule of `marked` looks at. Ordinary text takes about ten for each character. */
  maxSteps: number;
}

/**
 * The tokens of a CommonMark text; undefined when parsing takes more steps than that, or fails: then it is shown as it was written.
 * Security: `marked` takes time that grows with the square of a text, or faster, when emphasis, brackets, quotes or lists are arranged for it.
 * Its work is counted and not timed, so that a text looks the same on every machine.
 */
export function markdownTokens(text: string, { breaks, maxSteps }: MarkdownOptions): Token[] | undefined {
  try {
    return new CountedLexer(new StepCount(maxSteps), { gfm: true, breaks }).lex(text);
  } catch {
    return undefined;
  }
}

/** Throws when the parser has done what it may do. */
class StepCount {
  #left: number;
  #depth = 0;

  constructor(maxSteps: number) {
    this.#left = maxSteps;
  }

  take(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new Error('too many steps');
  }

  nested<Result>(work: () => Result): Result {
    if (this.#depth === maxDepth) throw new Error('too deep');
    this.#depth += 1;
    const result = work();
    this.#depth -= 1;
    return result;
  }
}

class CountedLexer extends Lexer {
  readonly #count: StepCount;

  constructor(count: StepCount, options: MarkedOptions) {
    super({ ...options, tokenizer: new CountedTokenizer(count) });
    this.#count = count;
  }

  override lex(src: string): TokensList {
    this.#count.take(runSteps(src, /\s{64,}/g));
    return super.lex(src);
  }

  override blockTokens(src: string, tokens?: Token[], lastParagraphClipped?: boolean): TokensList {
    this.#count.take(src.length + 1);
    // The list of the whole text is the only one with links, and the only one whose type says so.
    return this.#count.nested(() => super.blockTokens(src, tokens, lastParagraphClipped)) as TokensList;
  }

  override inlineTokens(src: string, tokens?: Token[]): Token[] {
    const masks = src.match(/[`[<\\]/g)?.length ?? 0;
    this.#count.take(src.length + (src.length * masks) / cheapSteps + runSteps(src, /\S{64,}/g));
    return this.#count.nested(() => super.inlineTokens(src, tokens));
  }
}

/** `space` and `escape` are what the lexer tries first wherever a block and a part of a text may begin. */
class CountedTokenizer extends Tokenizer {
  readonly #count: StepCount;

  constructor(count: StepCount) {
    super();
    this.#count = count;
  }

  override space(src: string): Tokens.Space | undefined {
    this.#count.take(paragraphOf(src).length);
    return super.space(src);
  }

  override escape(src: string): Tokens.Escape | undefined {
    this.#count.take(1);
    return super.escape(src);
  }

  override tag(src: string): Tokens.Tag | undefined {
    return this.#search(src, '<', () => super.tag(src));
  }

  override link(src: string): Tokens.Link | Tokens.Image | undefined {
    return this.#search(src, '[!', () => super.link(src));
  }

  override emStrong(src: string, masked: string, before?: string): Tokens.Em | Tokens.Strong | undefined {
    return this.#search(src, '*_', () => super.emStrong(src, masked, before));
  }

  override codespan(src: string): Tokens.Codespan | undefined {
    return this.#search(src, '`', () => super.codespan(src));
  }

  override del(src: string, masked: string, before?: string): Tokens.Del | undefined {
    return this.#search(src, '~', () => super.del(src, masked, before));
  }

  /** From one of these characters a rule looks for what ends it, and when there is nothing it has looked at all of the text. */
  #search<Found extends Tokens.Generic>(src: string, first: string, find: () => Found | undefined): Found | undefined {
    if (src === '' || !first.includes(src.charAt(0))) return find();
    this.#count.take(src.length);
    const found = find();
    if (found) this.#count.take(found.raw.length - src.length);
    return found;
  }

  override table(src: string): Tokens.Table | undefined {
    // Every row gets as many cells as the first one has.
    const [first = '', delimiter = '', ...rows] = paragraphOf(src).split('\n');
    if (/^[ \t|:-]+$/.test(delimiter)) this.#count.take(first.split('|').length * (rows.length + 1));
    return super.table(src);
  }
}

/** Each place in an unbroken run may be where an address, a line or a link begins, and is looked at from there. */
function runSteps(src: string, runs: RegExp): number {
  return (src.match(runs) ?? []).reduce((steps, { length }) => steps + (length * length) / cheapSteps, 0);
}

/** How far the rules for blocks look. */
function paragraphOf(src: string): string {
  const end = src.indexOf('\n\n');
  return end === -1 ? src : src.slice(0, end);
}
