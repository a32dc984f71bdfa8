/** Differences that a match may overlook. */
export type Tolerance = 'trailing-whitespace' | 'indentation';

/** A part of a text and what is to stand there. */
export interface Match {
  start: number;
  end: number;
  replacement: string;
}

/** A file of equal lines could be compared with a long text for hours. */
const maxComparisons = 20_000_000;

interface Line {
  start: number;
  text: string;
}

/**
 * Places where whole lines are those of `oldText` but for whitespace at their ends, or around them. With other indentation the replacement
 * is indented as the file is there.
 */
export function blockMatches(text: string, oldText: string, newText: string, tolerance: Tolerance): Match[] {
  const normal = tolerance === 'indentation' ? (line: string) => line.trim() : (line: string) => line.trimEnd();
  const endsLine = oldText.endsWith('\n');
  const wanted = (endsLine ? oldText.slice(0, -1) : oldText).split('\n');
  const wantedNormal = wanted.map(normal);
  const anchor = wantedNormal.findIndex((line) => line.trim() !== '');
  // Nothing but blank lines would be found everywhere.
  if (anchor === -1) return [];
  const lines = linesOf(text);
  const found = lines.map(({ text: line }) => normal(line));
  const matches: Match[] = [];
  let comparisons = 0;
  const isAt = (first: number): boolean =>
    wantedNormal.every((line, index) => {
      comparisons += 1;
      return found[first + index] === line;
    });
  for (let first = 0; first + wanted.length <= lines.length && comparisons < maxComparisons; first++) {
    if (found[first + anchor] !== wantedNormal[anchor] || !isAt(first)) continue;
    matches.push(matchAt(text, lines.slice(first, first + wanted.length), wanted, newText, endsLine, tolerance));
    first += wanted.length - 1;
  }
  return matches;
}

function matchAt(
  text: string,
  block: readonly Line[],
  wanted: readonly string[],
  newText: string,
  endsLine: boolean,
  tolerance: Tolerance,
): Match {
  const last = block.at(-1) as Line;
  const end = last.start + last.text.length;
  const takesEnd = endsLine && text[end] === '\n';
  const indented = tolerance === 'indentation' ? reindent(newText, wanted, block) : newText;
  // The last line of a file may have no end: it gets none by a replacement.
  const replacement = endsLine && !takesEnd && indented.endsWith('\n') ? indented.slice(0, -1) : indented;
  return { start: block[0]?.start ?? 0, end: takesEnd ? end + 1 : end, replacement };
}

/** Every indentation that old text and file have in the same line is known; any other is the longest known one and what is more. */
function reindent(newText: string, wanted: readonly string[], block: readonly Line[]): string {
  const known = new Map<string, string>();
  for (const [index, line] of wanted.entries()) {
    const there = block[index]?.text ?? '';
    if (line.trim() !== '' && !known.has(indentOf(line))) known.set(indentOf(line), indentOf(there));
  }
  const longestFirst = [...known].sort(([a], [b]) => b.length - a.length);
  const step = stepOf(known);
  const translate = (indent: string): string => {
    const [from, to] = longestFirst.find(([candidate]) => indent.startsWith(candidate)) ?? [];
    if (from !== undefined && to !== undefined) return to + step(indent.slice(from.length));
    // Less than any that is known: as much less.
    const [shortFrom = '', shortTo = ''] = longestFirst.at(-1) ?? [];
    const less = step(shortFrom.slice(0, shortFrom.length - indent.length)).length;
    return shortTo.slice(0, Math.max(0, shortTo.length - less));
  };
  return newText
    .split('\n')
    .map((line) => (line.trim() === '' ? line : translate(indentOf(line)) + line.slice(indentOf(line).length)))
    .join('\n');
}

/** How one level of the old text's indentation is written in the file. */
function stepOf(known: ReadonlyMap<string, string>): (indent: string) => string {
  const pairs = [...known].sort(([a], [b]) => a.length - b.length);
  for (let later = 1; later < pairs.length; later++) {
    const [[shortFrom, shortTo], [longFrom, longTo]] = [pairs[later - 1] ?? ['', ''], pairs[later] ?? ['', '']];
    const [from, to] = [longFrom.slice(shortFrom.length), longTo.slice(shortTo.length)];
    if (from !== '' && to !== '' && longTo.startsWith(shortTo)) return byUnit(from, to);
  }
  const [from = '', to = ''] = pairs.at(-1) ?? [];
  // One pair alone tells a unit only where one side has tabs and the other has not.
  if (from !== '' && to !== '' && from.includes('\t') !== to.includes('\t')) return byUnit(from, to);
  return (indent) => indent;
}

function byUnit(from: string, to: string): (indent: string) => string {
  return (indent) => {
    let translated = '';
    let rest = indent;
    // Several levels at once are as many single ones as both sides have in common.
    const levels = commonDivisor(from.length, to.length);
    const [unitFrom, unitTo] = [from.slice(0, from.length / levels), to.slice(0, to.length / levels)];
    while (unitFrom !== '' && rest.startsWith(unitFrom)) {
      translated += unitTo;
      rest = rest.slice(unitFrom.length);
    }
    return translated + rest;
  };
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}

function indentOf(line: string): string {
  return /^[ \t]*/.exec(line)?.[0] ?? '';
}

function linesOf(text: string): Line[] {
  const lines: Line[] = [];
  let start = 0;
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
    lines.push({ start, text: text.slice(start, end) });
    start = end + 1;
  }
  if (start < text.length) lines.push({ start, text: text.slice(start) });
  return lines;
}
