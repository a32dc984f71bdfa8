import { plainToken, unknown } from './values.ts';

const maxTexts = 64;

/** The texts a word with braces stands for, with everything else in it untouched. undefined when they are too many. */
export function expandBraces(text: string): string[] | undefined {
  const open = findBraces(text);
  if (!open) return [text];
  const { start, end, items } = open;
  const before = text.slice(0, start);
  const after = expandBraces(text.slice(end + 1));
  if (!after) return undefined;
  const texts: string[] = [];
  for (const item of items) {
    const inner = expandBraces(item);
    if (!inner) return undefined;
    for (const one of inner) for (const rest of after) texts.push(before + one + rest);
    if (texts.length > maxTexts) return undefined;
  }
  return texts;
}

/** The first braces that mean several texts: outside quotes, with a comma or a range. */
function findBraces(text: string): { start: number; end: number; items: string[] } | undefined {
  for (let start = nextBrace(text, 0); start !== -1; start = nextBrace(text, start + 1)) {
    const found = readBraces(text, start);
    if (!found) continue;
    if (found.items.length > 1) return { start, ...found };
    const range = expandRange(found.items[0] ?? '');
    if (range) return { start, end: found.end, items: range };
  }
  return undefined;
}

function nextBrace(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '{' && text[at - 1] !== '$') return at;
    at = skipQuoted(text, at);
  }
  return -1;
}

function readBraces(text: string, start: number): { end: number; items: string[] } | undefined {
  const items: string[] = [];
  let depth = 0;
  let from = start + 1;
  for (let at = start; at < text.length; at++) {
    const character = text[at];
    if (character === '{') depth++;
    else if (character === ',' && depth === 1) {
      items.push(text.slice(from, at));
      from = at + 1;
    } else if (character === '}' && --depth === 0) {
      items.push(text.slice(from, at));
      return { end: at, items };
    } else at = skipQuoted(text, at);
  }
  return undefined;
}

/** The last position of what is quoted or escaped at this one. */
function skipQuoted(text: string, at: number): number {
  const character = text[at];
  if (character === '\\') return at + 1;
  if (character !== "'" && character !== '"') return at;
  for (let end = at + 1; end < text.length; end++) {
    if (text[end] === character) return end;
    if (character === '"' && text[end] === '\\') end++;
  }
  return text.length;
}

function expandRange(item: string): string[] | undefined {
  const match = /^(-?\d{1,9}|[A-Za-z])\.\.(-?\d{1,9}|[A-Za-z])(\.\.-?\d{1,9})?$/.exec(item);
  const [first, last, step] = [match?.[1], match?.[2], match?.[3]];
  if (first === undefined || last === undefined) return undefined;
  const numbers = /\d/.test(first) && /\d/.test(last);
  if (!numbers && (/\d/.test(first) || /\d/.test(last))) return undefined;
  const [low, high] = numbers ? [Number(first), Number(last)] : [first.charCodeAt(0), last.charCodeAt(0)];
  if (step !== undefined || low > high || /^-?0\d/.test(first + last)) return [unknown];
  const from = Math.min(low, high);
  const to = Math.max(low, high);
  if (to - from >= maxTexts) return [from < 0 ? unknown : plainToken];
  return Array.from({ length: to - from + 1 }, (_, index) => (numbers ? String(from + index) : String.fromCharCode(from + index)));
}
