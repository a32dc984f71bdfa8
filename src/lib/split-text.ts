interface Fence {
  /** The line that opens it, with its language when there is room for that. */
  opening: string;
  closing: string;
}

interface Line {
  start: number;
  /** Where its line feed is, or the end of the text. */
  end: number;
  role: 'text' | 'blank' | 'opens' | 'closes';
  /** The code block it is inside of, or closes. */
  fence: Fence | undefined;
}

interface Cut {
  at: number;
  /** Where the next piece begins. */
  next: number;
  /** The code block that is open there, and is closed. */
  fence: Fence | undefined;
  /** The one that the next piece goes on with. */
  reopened: Fence | undefined;
}

/** A piece shorter than this part of what fits is not worth a better place to cut. */
const minFill = 1 / 4;
/** Opening and closing a code block again may take this part of a piece. */
const maxFencing = 1 / 2;

/**
 * Pieces of a CommonMark text that are not longer than the limit, in UTF-16 units; none is blank. It is cut between paragraphs, else between
 * lines, else between words. A code block that is cut is closed in the one piece and opened again, with its language, in the next. While a
 * text grows at its end, all pieces but the last two stay what they are.
 */
export function splitText(text: string, limit: number): string[] {
  if (!(limit >= 2)) throw new RangeError(`A text cannot be split into pieces of ${limit}.`);
  if (text.trim() === '') return [];
  if (text.length <= limit) return [text];
  const lines = linesOf(text, limit);
  const pieces: string[] = [];
  let [at, line]: [number, number] = [0, 0];
  let fence: Fence | undefined;
  for (;;) {
    if (!fence) at = pastBlank(text, at);
    if (at >= text.length) return pieces;
    while (lines[line + 1] && (lines[line + 1] as Line).start <= at) line++;
    const prefix = fence ? `${fence.opening}\n` : '';
    if (prefix.length + text.length - at <= limit) return [...pieces, prefix + text.slice(at)];
    const cut = bestCut(text, lines, line, at, limit - prefix.length);
    const body = text.slice(at, cut.at);
    const piece = prefix + (cut.fence ? `${body}\n${cut.fence.closing}` : body.trimEnd());
    if (piece.trim() !== '') pieces.push(piece);
    ({ next: at, reopened: fence } = cut);
  }
}

/** The rest of a text after its first so many units, to be read by itself: in a code block that is still open it opens one again. */
export function textAfter(text: string, length: number): string {
  const line = linesOf(text, Number.POSITIVE_INFINITY).findLast(({ start }) => start <= length);
  const isInside = line?.fence && !(line.role === 'closes' && length >= line.end);
  const rest = text.slice(length).replace(/^\n/, '');
  if (!isInside) return rest.trimStart();
  return line.role === 'closes' || rest.trim() === line.fence?.closing.trim() ? '' : `${line.fence?.opening}\n${rest}`;
}

function linesOf(text: string, limit: number): Line[] {
  const lines: Line[] = [];
  let fence: Fence | undefined;
  for (let start = 0; start <= text.length; ) {
    const found = text.indexOf('\n', start);
    const end = found === -1 ? text.length : found;
    const content = text.slice(start, end).trimEnd();
    const opened: Fence | undefined = fence ? undefined : fenceOf(content, limit);
    const closes: boolean = fence !== undefined && isClosing(content, fence.closing.trimStart());
    const role = opened ? 'opens' : closes ? 'closes' : content === '' ? 'blank' : 'text';
    lines.push({ start, end, role, fence });
    fence = closes ? undefined : (fence ?? opened);
    start = end + 1;
  }
  return lines;
}

/** undefined for a line that opens no code block, or one whose fences would leave no room for code. */
function fenceOf(line: string, limit: number): Fence | undefined {
  // In lists code blocks are indented by as much as the list.
  const [, indent = '', marker, info = ''] = /^([ \t]*)(`{3,}(?=[^`]*$)|~{3,})(.*)$/.exec(line) ?? [];
  if (marker === undefined) return undefined;
  const closing = indent + marker;
  const fits = (opening: string): boolean => opening.length + closing.length + 2 <= limit * maxFencing;
  const opening = [closing + info, closing].find(fits);
  return opening === undefined ? undefined : { opening, closing };
}

function isClosing(line: string, marker: string): boolean {
  const content = line.trim();
  return content.length >= marker.length && content === (marker[0] ?? '').repeat(content.length);
}

/** Within so much room, from a line on. */
function bestCut(text: string, lines: readonly Line[], first: number, at: number, limit: number): Cut {
  const least = at + limit * minFill;
  let [paragraph, line, reached]: (Cut | undefined)[] = [];
  let last = first;
  for (let index = first; index < lines.length; index++) {
    const here = lines[index] as Line;
    if (here.start > at && here.start >= endOf(here, at, limit)) break;
    last = index;
    const cut = cutAfter(lines, index);
    if (!cut || cut.at <= at || cut.at > at + limit - fencing(cut.fence)) continue;
    reached = cut;
    if (cut.at < least) continue;
    line = cut;
    if (!cut.fence && lines[index + 1]?.role !== 'text') paragraph = cut;
  }
  return paragraph ?? line ?? cutWithin(text, lines[last] as Line, at, limit, least) ?? reached ?? cutAnywhere(text, at, limit);
}

/** Where a piece that ends in this line has to end at the latest. */
function endOf(line: Line, at: number, limit: number): number {
  return at + limit - (line.role === 'opens' ? 0 : fencing(line.fence));
}

function fencing(fence: Fence | undefined): number {
  return fence ? fence.closing.length + 1 : 0;
}

/** Not after a line that opens a code block, which would leave an empty one, and not after a blank one, because the cut before it is as good. */
function cutAfter(lines: readonly Line[], index: number): Cut | undefined {
  const { end, role, fence } = lines[index] as Line;
  if (role === 'opens' || (role === 'blank' && !fence)) return undefined;
  if (role === 'closes' || !fence) return { at: end, next: end + 1, fence: undefined, reopened: undefined };
  const following = lines[index + 1];
  if (following?.role !== 'closes') return { at: end, next: end + 1, fence, reopened: fence };
  // The closing line that is added stands for the one that follows.
  return { at: end, next: following.end + 1, fence, reopened: undefined };
}

/** Between two words of a line, or within a word that is too long for any piece. */
function cutWithin(text: string, line: Line, at: number, limit: number, least: number): Cut | undefined {
  if (line.role === 'opens' || line.role === 'closes') return undefined;
  const most = Math.min(endOf(line, at, limit), line.end);
  const start = Math.max(line.start, at);
  for (let place = most; place > start && place >= least; place--) {
    if (!/[ \t]/.test(text[place] ?? '') || text.slice(start, place).trim() === '') continue;
    const next = line.fence ? place : place + (/^[ \t]*/.exec(text.slice(place, line.end))?.[0].length ?? 0);
    // A piece that begins with a fence would become a code block.
    if (line.fence || !/^(```|~~~)/.test(text.slice(next, next + 3))) return { at: place, next, fence: line.fence, reopened: line.fence };
  }
  const place = wholeCharacter(text, most);
  return place > start && place >= least ? { at: place, next: place, fence: line.fence, reopened: line.fence } : undefined;
}

function cutAnywhere(text: string, at: number, limit: number): Cut {
  const place = wholeCharacter(text, at + limit);
  return { at: place, next: place, fence: undefined, reopened: undefined };
}

/** Not between the two halves of a character. */
function wholeCharacter(text: string, place: number): number {
  return /^[\ud800-\udbff][\udc00-\udfff]/.test(text.slice(place - 1, place + 1)) ? place - 1 : place;
}

function pastBlank(text: string, at: number): number {
  const blank = /\s*$|(?:[ \t\r]*\n)*/y;
  blank.lastIndex = at;
  return at + (blank.exec(text)?.[0].length ?? 0);
}
