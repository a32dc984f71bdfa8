/** Of the old text; more are not needed to find where it was meant to be. */
const maxWanted = 50;
/** So many lines of the file are looked at for equal ones, and for similar ones. */
const maxCompared = 200_000;
const maxMeasured = 20_000;
const maxShown = 30;
const longestShown = 300;
const around = 2;
const minSimilarity = 0.4;

/** The part of a text that is most like the one that was sought, with line numbers, or undefined when nothing is. */
export function closestRegion(text: string, oldText: string): string | undefined {
  const lines = text.split('\n');
  const wanted = oldText.split('\n');
  const start = byEqualLines(lines, wanted) ?? bySimilarLine(lines, wanted);
  if (start === undefined) return undefined;
  const first = Math.max(0, start - around);
  const last = Math.min(lines.length, first + Math.min(maxShown, wanted.length + 2 * around));
  return lines
    .slice(first, last)
    .map(
      (line, index) => `${String(first + index + 1).padStart(6)}\t${line.length > longestShown ? `${line.slice(0, longestShown)}…` : line}`,
    )
    .join('\n');
}

/** Every line that is the same but for whitespace votes for where the text would start. */
function byEqualLines(lines: readonly string[], wanted: readonly string[]): number | undefined {
  const places = new Map<string, number>();
  for (const [index, line] of wanted.slice(0, maxWanted).entries()) {
    // A bracket on a line of its own says nothing.
    if (!/\w/.test(line)) continue;
    const key = squeezed(line);
    if (!places.has(key)) places.set(key, index);
  }
  const votes = new Map<number, number>();
  for (const [index, line] of lines.slice(0, maxCompared).entries()) {
    const place = places.get(squeezed(line));
    if (place !== undefined) votes.set(index - place, (votes.get(index - place) ?? 0) + 1);
  }
  let best: number | undefined;
  for (const [start, count] of votes) if (best === undefined || count > (votes.get(best) ?? 0)) best = start;
  return best === undefined ? undefined : Math.max(0, best);
}

function bySimilarLine(lines: readonly string[], wanted: readonly string[]): number | undefined {
  const longest = wanted.slice(0, maxWanted).reduce((best, line) => (line.trim().length > best.trim().length ? line : best), '');
  const pairs = pairsOf(longest);
  if (pairs.size === 0) return undefined;
  let best: number | undefined;
  let bestSimilarity = minSimilarity;
  for (const [index, line] of lines.slice(0, maxMeasured).entries()) {
    const other = pairsOf(line);
    let common = 0;
    for (const pair of other) if (pairs.has(pair)) common += 1;
    const similarity = (2 * common) / (pairs.size + other.size);
    if (similarity > bestSimilarity) [best, bestSimilarity] = [index, similarity];
  }
  return best === undefined ? undefined : Math.max(0, best - wanted.indexOf(longest));
}

/** Pairs of neighbouring characters: what two similar lines have in common. */
function pairsOf(line: string): Set<string> {
  const text = squeezed(line).slice(0, longestShown);
  return new Set(Array.from({ length: Math.max(0, text.length - 1) }, (_, at) => text.slice(at, at + 2)));
}

function squeezed(line: string): string {
  return line.replace(/\s+/g, ' ').trim();
}
