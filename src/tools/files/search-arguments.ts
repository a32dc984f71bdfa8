import { globExpression } from '../../lib/glob-expression.ts';

export interface SearchWish {
  target: 'content' | 'names';
  pattern: string;
  regex: boolean;
  glob?: string | undefined;
  context: number;
  ignore_case: boolean;
  files_only: boolean;
}

/** Skipped unless the glob names them. */
const skippedNames = ['.git', '.hg', '.svn', 'node_modules'];
/** Longest printed part of one line. */
const longestLine = 16_000;

/** The arguments of the script in the sandbox: the same search for ripgrep, grep and find. */
export function searchArguments(wish: SearchWish): string[] {
  const ripgrep = ripgrepArguments(wish);
  const grep = grepArguments(wish);
  return [String(ripgrep.length), ...ripgrep, String(grep.length), ...grep, ...findArguments(wish)];
}

/** Settings and ignore files are left aside, so that the answer is the same with and without ripgrep. */
function ripgrepArguments(wish: SearchWish): string[] {
  return [
    ...['--no-config', '--hidden', '--no-ignore', '--color=never', '--no-heading', '--with-filename', '--null', '--line-number'],
    ...[`--max-columns=${longestLine}`, '--max-columns-preview'],
    ...(wish.regex ? [] : ['--fixed-strings']),
    ...(wish.ignore_case ? ['--ignore-case'] : ['--case-sensitive']),
    ...(wish.files_only ? ['--files-with-matches'] : [`--context=${wish.context}`]),
    ...(wish.glob === undefined ? [] : [`--glob=${wish.glob}`]),
    ...skippedBy(wish.glob ?? '').map((name) => `--glob=!${name}`),
    ...['-e', wish.pattern],
  ];
}

/** The first is `-P` where a character must be more than a byte, and the last is the pattern; the script knows. */
function grepArguments({ pattern, regex, ignore_case, files_only, context }: SearchWish): string[] {
  const isPlain = !regex && (!ignore_case || isAscii(pattern));
  return [
    isPlain ? '-F' : '-P',
    ...['-nHZ', '--color=never'],
    ...(ignore_case ? ['-i'] : []),
    ...(files_only ? ['-l'] : [`--context=${context}`]),
    ...['-e', regex || isPlain ? pattern : pattern.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&')],
  ];
}

function findArguments({ target, pattern, glob, ignore_case }: SearchWish): string[] {
  const pruned = [
    ...skippedBy(`${glob ?? ''}/${target === 'names' ? pattern : ''}`).flatMap((name) => ['-o', '-name', name]),
    ...(glob?.startsWith('!') ? ['-o', '-regex', globExpression(glob.slice(1))] : []),
  ];
  return [
    ...['-regextype', 'posix-extended'],
    ...(pruned.length > 0 ? ['(', ...pruned.slice(1), ')', '-prune', '-o'] : []),
    ...(glob !== undefined && !glob.startsWith('!') ? ['-regex', globExpression(glob)] : []),
    ...(target === 'names' ? [ignore_case ? '-iregex' : '-regex', globExpression(pattern)] : []),
  ];
}

function skippedBy(globs: string): string[] {
  const mentioned = globs.split(/[/!{},]/);
  return skippedNames.filter((name) => !mentioned.includes(name));
}

function isAscii(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text);
}
