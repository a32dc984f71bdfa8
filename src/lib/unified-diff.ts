import { formatPatch, structuredPatch } from 'diff';

export interface TextDiff {
  added: number;
  removed: number;
  /** Unified, with three lines of context. Empty when nothing differs, or too much to say where. */
  text: string;
  /** Whether some of it was left out. */
  truncated: boolean;
}

const deadlineMs = 200;
const maxEdits = 2000;

/** How two texts differ by lines, in at most so many characters. */
export function unifiedDiff(name: string, before: string, after: string, maxCharacters: number): TextDiff {
  const patch = structuredPatch(name, name, before, after, undefined, undefined, {
    context: 3,
    timeout: deadlineMs,
    maxEditLength: maxEdits,
  });
  if (!patch) return { ...replacedLines(before, after), text: '', truncated: true };
  const lines = patch.hunks.flatMap((hunk) => hunk.lines);
  const added = lines.filter((line) => line.startsWith('+')).length;
  const removed = lines.filter((line) => line.startsWith('-')).length;
  if (patch.hunks.length === 0) return { added, removed, text: '', truncated: false };
  const whole = formatPatch(patch).replace(/^(?:Index: .*\n)?=+\n/, '');
  const text = whole.length > maxCharacters ? whole.slice(0, whole.lastIndexOf('\n', maxCharacters) + 1) : whole;
  return { added, removed, text, truncated: text !== whole };
}

/** Everything between what both have at the start and at the end. */
function replacedLines(before: string, after: string): { added: number; removed: number } {
  const [old, next] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < old.length && start < next.length && old[start] === next[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < next.length - start && old.at(-1 - end) === next.at(-1 - end)) end += 1;
  return { added: next.length - start - end, removed: old.length - start - end };
}

function linesOf(text: string): string[] {
  const lines = text.split('\n');
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}
