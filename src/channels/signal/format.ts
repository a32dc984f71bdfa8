import { markdownTokens } from '../../lib/markdown-tokens.ts';
import { type Markup, written } from '../markup.ts';
import { maxStyles, maxVisibleText } from './limits.ts';

/** A text as Signal takes it: what is seen, and which parts of it look different. */
export interface Formatted {
  text: string;
  /** `start:length:STYLE`, in UTF-16 units. */
  styles: string[];
}

/** Of one message, as for Telegram. */
const maxSteps = 300_000;

/** Where a style begins and ends, while a text is made. They are no characters of any language, and none of them is left in a text from elsewhere. */
const marks = {
  BOLD: ['\ufdd0', '\ufdd1'],
  ITALIC: ['\ufdd2', '\ufdd3'],
  STRIKETHROUGH: ['\ufdd4', '\ufdd5'],
  MONOSPACE: ['\ufdd6', '\ufdd7'],
} as const;
const blockMark = '\ufdd8';
const anyMark = /[\ufdd0-\ufdd8]/g;

type Style = keyof typeof marks;

/** CommonMark for Signal. Nothing of the text is a style unless the Markdown says so. */
export function format(markdown: string): Formatted {
  const plain = markdown.toWellFormed().replace(anyMark, '\ufffd');
  const tokens = markdownTokens(plain, { breaks: false, maxSteps });
  const forms = tokens === undefined ? [] : [true, false].map((alignTables) => styled(written(tokens, signalMarkup, alignTables)));
  return forms.find(({ text }) => text !== '' && text.length <= maxVisibleText) ?? { text: plain, styles: [] };
}

const marked = (style: Style) => (inner: string) => `${marks[style][0]}${inner}${marks[style][1]}`;
const bold = marked('BOLD');
const monospace = marked('MONOSPACE');

/** Character references can make a mark out of what is none. */
function clean(text: string): string {
  return text.replace(anyMark, '\ufffd');
}

const signalMarkup: Markup = {
  text: clean,
  strong: bold,
  emphasis: marked('ITALIC'),
  struck: marked('STRIKETHROUGH'),
  code: (text) => monospace(clean(text)),
  codeBlock: (text) => blockMark + monospace(clean(text)),
  heading: bold,
  quote: (inner) => inner.replace(/^/gm, '> '),
  bullet: '•',
  link: (href, label) => {
    const shown = label.replace(anyMark, '');
    return shown === href || `mailto:${shown}` === href ? label : `${label} (${clean(href)})`;
  },
  isPreformatted: (text) => text.includes(blockMark),
};

const starts = new Map<string, Style>(Object.entries(marks).map(([style, [begin]]) => [begin, style as Style]));
const ends = new Map<string, Style>(Object.entries(marks).map(([style, [, end]]) => [end, style as Style]));

/** Takes the marks out. */
function styled(source: string): Formatted {
  const styles: string[] = [];
  const open = new Map<Style, { depth: number; from: number }>();
  let text = '';
  // Apps do not show white space at the beginning, and would move the styles by it.
  for (const part of source.trim().split(/([\ufdd0-\ufdd8])/)) {
    const begins = starts.get(part);
    const finishes = ends.get(part);
    if (begins) {
      const now = open.get(begins);
      open.set(begins, now ? { ...now, depth: now.depth + 1 } : { depth: 1, from: text.length });
    } else if (finishes) {
      const { depth, from } = open.get(finishes) ?? { depth: 0, from: text.length };
      if (depth > 1) open.set(finishes, { depth: depth - 1, from });
      else {
        open.delete(finishes);
        if (text.slice(from).trim() !== '' && styles.length < maxStyles) styles.push(`${from}:${text.length - from}:${finishes}`);
      }
    } else if (part !== blockMark) text += text === '' ? part.trimStart() : part;
  }
  return { text, styles };
}
