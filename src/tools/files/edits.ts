import { HermeticError } from '../../core/errors.ts';
import { formOf, plainText, unixLines } from '../../lib/text-form.ts';
import { closestRegion } from './edit-hint.ts';
import { blockMatches, type Match, type Tolerance } from './edit-match.ts';

export interface Edit {
  old_text: string;
  new_text: string;
  replace_all: boolean;
}

export interface AppliedEdit {
  /** How many places were changed. */
  replacements: number;
  /** Differences that were overlooked to find them. */
  matched: 'exact' | Tolerance;
  /** Of the first place, counted in the text as it was before this edit. */
  line: number;
}

const maxLinesNamed = 10;
/** A larger change is a mistake, and bounds the host's memory. */
const maxMatches = 100_000;
const maxCharacters = 32 * 1024 * 1024;

/**
 * Applies edits one after another, each to what the one before left. All or none: throws for the first that does not apply. The rest
 * of the file stays as it is, byte for byte; new text gets its line endings.
 */
export function applyEdits(raw: string, edits: readonly Edit[]): { text: string; applied: AppliedEdit[] } {
  let text = raw;
  const applied = edits.map((edit, index) => {
    const step = applyEdit(text, edit, edits.length > 1 ? `Edit ${index + 1} of ${edits.length}: ` : '');
    text = step.text;
    return step.applied;
  });
  return { text, applied };
}

function applyEdit(raw: string, edit: Edit, which: string): { text: string; applied: AppliedEdit } {
  const { lineEnding } = formOf(raw);
  const hasReturns = lineEnding === 'crlf' || lineEnding === 'mixed';
  const mark = raw.length - plainLength(raw);
  const plain = plainText(raw);
  const oldText = hasReturns ? unixLines(edit.old_text) : edit.old_text;
  const newText = hasReturns ? unixLines(edit.new_text) : edit.new_text;
  if (oldText === newText) throw new HermeticError('tool/failed', `${which}old_text and new_text are the same. Nothing was changed.`);
  const { matches, matched } = findMatches(plain, oldText, newText);
  const [first] = matches;
  if (!first) throw noMatch(plain, oldText, which);
  if (matches.length > 1 && !edit.replace_all) throw tooMany(plain, matches, which);
  const grown = matches.reduce((sum, { start, end, replacement }) => sum + replacement.length - (end - start), raw.length);
  if (matches.length > maxMatches || grown > maxCharacters)
    throw new HermeticError('tool/failed', `${which}old_text is there so often that the file would become too large. Nothing was changed.`);
  const ending = lineEnding === 'crlf' || (lineEnding === 'mixed' && returnsPrevail(raw)) ? '\r\n' : '\n';
  const text = splice(raw.slice(mark), matches, ending);
  return { text: raw.slice(0, mark) + text, applied: { replacements: matches.length, matched, line: lineAt(plain, first.start) } };
}

function findMatches(text: string, oldText: string, newText: string): { matches: Match[]; matched: AppliedEdit['matched'] } {
  const exact = exactMatches(text, oldText, newText);
  if (exact.length > 0) return { matches: exact, matched: 'exact' };
  for (const tolerance of ['trailing-whitespace', 'indentation'] as const) {
    const matches = blockMatches(text, oldText, newText, tolerance);
    if (matches.length > 0) return { matches, matched: tolerance };
  }
  return { matches: [], matched: 'exact' };
}

function exactMatches(text: string, oldText: string, newText: string): Match[] {
  const matches: Match[] = [];
  for (let at = text.indexOf(oldText); at !== -1 && matches.length <= maxMatches; at = text.indexOf(oldText, at + oldText.length)) {
    matches.push({ start: at, end: at + oldText.length, replacement: newText });
  }
  return matches;
}

/** Matches count in a text without carriage returns; `raw` may have them at the end of its lines. */
function splice(raw: string, matches: readonly Match[], ending: string): string {
  const parts: string[] = [];
  let plainAt = 0;
  let rawAt = 0;
  const advance = (plainEnd: number): number => {
    let at = rawAt;
    for (let left = plainEnd - plainAt; left > 0; ) {
      const pair = raw.indexOf('\r\n', at);
      const run = pair === -1 ? left : Math.min(left, pair - at);
      at += run;
      left -= run;
      if (left > 0) {
        at += 2;
        left -= 1;
      }
    }
    plainAt = plainEnd;
    return at;
  };
  for (const { start, end, replacement } of matches) {
    const rawStart = advance(start);
    parts.push(raw.slice(rawAt, rawStart), ending === '\n' ? replacement : replacement.replaceAll('\n', ending));
    rawAt = rawStart;
    rawAt = advance(end);
  }
  return parts.join('') + raw.slice(rawAt);
}

function plainLength(raw: string): number {
  return raw.startsWith('\uFEFF') ? raw.length - 1 : raw.length;
}

function returnsPrevail(raw: string): boolean {
  const all = raw.split('\n').length;
  return raw.split('\r\n').length * 2 > all;
}

function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line += 1;
  return line;
}

function tooMany(text: string, matches: readonly Match[], which: string): HermeticError {
  const lines = matches.slice(0, maxLinesNamed).map(({ start }) => lineAt(text, start));
  const more = matches.length > maxLinesNamed ? ', …' : '';
  return new HermeticError(
    'tool/failed',
    `${which}old_text is there ${matches.length} times, at lines ${lines.join(', ')}${more}. Nothing was changed.`,
    {
      hint: 'Give more of the text around the one you mean, or set replace_all to change all of them.',
    },
  );
}

function noMatch(text: string, oldText: string, which: string): HermeticError {
  const numbered = oldText.split('\n').filter((line) => line !== '');
  if (numbered.length > 0 && numbered.every((line) => /^\s*\d+\t/.test(line))) {
    return new HermeticError('tool/failed', `${which}old_text is not in the file. Nothing was changed.`, {
      hint: 'The line numbers that read_file prints, and the tab after them, are not part of the file: leave them out.',
    });
  }
  const region = closestRegion(text, oldText);
  const message = `${which}old_text is not in the file, not even with other whitespace. Nothing was changed.`;
  if (region === undefined)
    return new HermeticError('tool/failed', message, { hint: 'Nothing in the file is like it. Read the file again.' });
  return new HermeticError('tool/failed', `${message} The closest part of the file:\n${region}\n`, {
    hint: 'Copy old_text from there, without line numbers.',
  });
}
