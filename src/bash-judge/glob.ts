import { BoundedMap } from '../lib/bounded-map.ts';

const maxPattern = 200;
/** A pattern is compared with many places, one after the other. */
const made = new BoundedMap<string, RegExp | undefined>(50);

/** The expression a pattern of the shell stands for, or undefined when it is too much of one. `*` crosses slashes where `anywhere`. */
export function globExpression(pattern: string, anywhere: boolean): RegExp | undefined {
  if (pattern.length > maxPattern) return undefined;
  const key = `${anywhere}${pattern}`;
  if (!made.has(key)) made.set(key, makeExpression(pattern, anywhere));
  return made.get(key);
}

function makeExpression(pattern: string, anywhere: boolean): RegExp | undefined {
  // Security: many stars in a row of alternatives would make the expression take exponential time.
  if ((pattern.match(/\*/g)?.length ?? 0) > 4) return undefined;
  let source = '';
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at] as string;
    const start = !anywhere && (at === 0 || pattern[at - 1] === '/');
    const hidden = start ? '(?!\\.)' : '';
    if (character === '*') source += `${hidden}${anywhere ? '[\\s\\S]*' : '[^/]*'}`;
    else if (character === '?') source += `${hidden}${anywhere ? '[\\s\\S]' : '[^/]'}`;
    else if (character === '[') {
      const [set, not, members = ''] = /^\[([!^]?)(\]?(?:\[([:.=])[^\]/]*\3\]|[^\]/])*)\]/.exec(pattern.slice(at)) ?? [];
      if (set === undefined) source += '\\[';
      else {
        source += `[${not ? '^' : ''}${members.replace(/\[([:.=])(.*?)\1\]|[\\\]^[]/g, member)}]`;
        at += set.length - 1;
      }
    } else source += character.replace(/[.+^${}()|\\/\]]/g, '\\$&');
  }
  try {
    return new RegExp(`^${source}$`);
  } catch {
    return undefined;
  }
}

const classes: Readonly<Record<string, string>> = {
  alpha: 'A-Za-z',
  digit: '0-9',
  alnum: 'A-Za-z0-9',
  upper: 'A-Z',
  lower: 'a-z',
  xdigit: '0-9A-Fa-f',
  word: '\\w',
  space: '\\s',
  blank: ' \\t',
  punct: '!-\\/:-@\\[-`{-~',
  graph: '!-~',
  print: ' -~',
  cntrl: '\\x00-\\x1f',
};

/** One of a set: `[:name:]`, `[.x.]`, `[=x=]` or a character. */
function member(text: string, kind: string | undefined, inner: string): string {
  if (kind === undefined) return `\\${text}`;
  return kind === ':' ? (classes[inner] ?? '') : inner.replace(/[\\\]^[-]/g, '\\$&');
}

/** Whether a part of a path may be `..` without saying so. Not every bash leaves it out of what patterns match. */
export function matchesParent(segment: string): boolean {
  if (/^(?:\.|[?*+@!]\().*/s.test(segment) && /[?*+@!]\(/.test(segment)) return true;
  return segment.startsWith('.') && isPattern(segment) && (globExpression(segment, false)?.test('..') ?? true);
}

export function isPattern(text: string): boolean {
  return /[*?[]/.test(text);
}
