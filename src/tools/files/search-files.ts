import { z } from 'zod';
import { HermeticError } from '../../core/errors.ts';
import type { ToolContext } from '../../core/tool.ts';
import { printable } from '../../lib/printable.ts';
import { defineTool } from '../define-tool.ts';
import { AnswerCollector, garbled, requireFile } from './file-answer.ts';
import { codeOf, type GuestEnd, runGuest } from './file-guest.ts';
import { onPath, pathSchema } from './file-path.ts';
import { searchArguments } from './search-arguments.ts';
import { FoundLines, FoundNames } from './search-output.ts';

const timeoutMs = 60_000;
const maxWarnings = 5;
const oneLine = (text: string): boolean => !/[\0\r\n]/.test(text);

const input = z.strictObject({
  pattern: z
    .string()
    .min(1, 'a pattern cannot be empty')
    .max(4096)
    .refine(oneLine, 'a pattern is a single line')
    .describe(
      'For content: a regular expression, or plain text when regex is false. For names: a glob such as `*.ts` or `src/**/index.*`.',
    ),
  target: z.enum(['content', 'names']).default('content').describe('Whether to look into files or at the names of files and directories.'),
  path: pathSchema
    .default('.')
    .describe('Where to search: a directory, or for content also a single file. Relative to the current directory of the session.'),
  regex: z.boolean().default(true).describe('Content only: whether the pattern is a regular expression.'),
  glob: z
    .string()
    .min(1)
    .max(1024)
    .refine(oneLine, 'a glob is a single line')
    .optional()
    .describe(
      'Only files whose name (or, with a slash, whose path below `path`) fits, such as `*.{ts,tsx}` or `src/**`; with `!` in front, only others.',
    ),
  context: z.int().min(0).max(20).default(0).describe('Content only: lines to show before and after each match.'),
  ignore_case: z.boolean().default(false).describe('Whether upper and lower case are the same.'),
  files_only: z.boolean().default(false).describe('Content only: the names of files with a match instead of the lines.'),
  limit: z.int().min(1).max(5000).default(100).describe('The most matches or names to give back.'),
});

const output = z.object({
  path: z.string().describe('Where it was searched, as it was given.'),
  engine: z.enum(['ripgrep', 'grep', 'find']).describe('What searched.'),
  matches: z
    .array(
      z.object({
        path: z.string().describe('Can be given to read_file as it is.'),
        line: z.number().describe('Counted from 1.'),
        text: z.string().describe('The line, or the part of a long one.'),
        cut: z.boolean().optional().describe('Whether it is only a part.'),
        context: z.boolean().optional().describe('Whether it is only near a match.'),
      }),
    )
    .optional()
    .describe('Lines that match, in order of path and line, with their context.'),
  files: z.array(z.string()).optional().describe('Names that match, or files with a match. A directory ends with a slash.'),
  count: z.number().describe('How many matches or names are given back.'),
  truncated: z.boolean().describe('Whether there may be more.'),
  warnings: z.array(z.string()).describe('What could not be searched, and why.'),
});

type Input = z.infer<typeof input>;
type Result = z.infer<typeof output>;
type Found = NonNullable<Result['matches']>[number];

export const searchFiles = defineTool<Input, Result>({
  name: 'search_files',
  title: 'Search files',
  description:
    'Searches the content of files for a regular expression or a text, or finds files and directories by name. Includes hidden files; ' +
    'leaves out binary files, does not follow symbolic links, and skips .git, .hg, .svn and node_modules unless they are searched or ' +
    'named in the glob. Ignore files such as .gitignore do not count. Faster and safer than grep or find in the terminal.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  forScripts: true,
  input: input as z.ZodType<Input>,
  output,
  prepare: onPath('read', search),
  render,
});

async function search(wanted: Input, context: ToolContext): Promise<Result> {
  const { path, target, limit } = wanted;
  const matches: Found[] = [];
  const files: string[] = [];
  const isLines = target === 'content' && !wanted.files_only;
  let count = 0;
  let bytes = 0;
  let isFull = false;
  let isFile = false;
  const named = (found: string): string => (isFile ? path : below(path, found));
  const take = (size: number, counts: boolean): boolean => {
    bytes += size;
    isFull ||= bytes > context.maxBytes || (counts && count >= limit);
    if (!isFull && counts) count += 1;
    return !isFull;
  };
  const parser = isLines
    ? new FoundLines(
        ({ path: name, line, text, isMatch, isCut }) => {
          const found = { path: named(name), line, text, ...(isCut && { cut: true }), ...(!isMatch && { context: true }) };
          if (take(text.length + 8 + (matches.at(-1)?.path === found.path ? 0 : found.path.length), isMatch)) matches.push(found);
        },
        (text) => around(text, wanted),
      )
    : new FoundNames((name) => {
        const shown = target === 'names' ? named(`./${name.slice(1)}${name.startsWith('d') ? '/' : ''}`) : named(name);
        if (take(shown.length + 1, true)) files.push(shown);
      });

  const collector = new AnswerCollector(300_000);
  let engine: Result['engine'] | undefined;
  const ended = await runGuest(context, 'search', [path, target, ...searchArguments(wanted)], {
    timeoutMs,
    onOutput: (data, handle) => {
      if (isFull) return;
      if (engine) parser.push(data);
      else {
        collector.push(data.subarray(0, 300_000));
        const { answer } = collector;
        engine = answer && engines.find((name) => name === answer.verb);
        isFile = answer?.detail === 'file';
        if (engine && answer) parser.push(Buffer.concat([answer.body, data.subarray(300_000)]));
      }
      if (isFull) void handle.kill('KILL').catch(() => undefined);
    },
  });
  if (!engine) {
    codeOf(ended, path, 'searched');
    if (collector.answer) requireFile(collector.answer, path);
    if (collector.answer?.verb === 'no-directory')
      throw new HermeticError('tool/failed', `${path} is a file: names are searched in directories.`);
    throw garbled();
  }
  const isLate = ended.end.kind === 'timeout';
  if (!isFull && !isLate) codeOf(ended, path, 'searched');
  const complaints = complaintsIn(ended, isFull || isLate || count > 0);
  return {
    path,
    engine,
    ...(isLines ? { matches: matches.sort(byPlace) } : { files: files.sort() }),
    count,
    truncated: isFull || isLate,
    warnings: isLate ? [`The search was ended after ${timeoutMs / 1000} s.`, ...complaints] : complaints,
  };
}

const engines = ['ripgrep', 'grep', 'find'] as const;

/** Relative to the session's directory, so that other tools find it. */
function below(path: string, found: string): string {
  const name = found.replace(/^\.\//, '');
  if (path === '.' || path === './') return name;
  const base = path.replace(/(?<=.)\/+$/, '');
  return base === '/' ? `/${name}` : `${base}/${name}`;
}

/** The part of a long line that has the text in it. */
function around(text: string, { pattern, regex, ignore_case }: Input): string {
  const at = regex ? -1 : ignore_case ? text.toLowerCase().indexOf(pattern.toLowerCase()) : text.indexOf(pattern);
  return at > 300 ? text.slice(at - 200) : text;
}

function byPlace(a: Found, b: Found): number {
  return a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1;
}

/** Throws when what went wrong is not about single files. */
function complaintsIn({ complaints }: GuestEnd, hasResult: boolean): string[] {
  const lines = complaints.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('hermetic: '));
  const single = lines.filter((line) => /^(?:(?:rg|grep|find): )?['‘]?\.\//.test(line));
  const general = lines.filter((line) => !single.includes(line));
  if (general.length > 0 && !hasResult) {
    throw new HermeticError('tool/failed', `The search failed: ${printable(general.slice(0, 10).join(' ')).slice(0, 1000)}`, {
      hint: 'If the pattern is meant as plain text, set regex to false.',
    });
  }
  const shown = [...single, ...general]
    .slice(0, maxWarnings)
    .map((line) => printable(line.replace(/^(?:rg|grep|find): /, '')).slice(0, 300));
  return lines.length > maxWarnings ? [...shown, `and ${lines.length - maxWarnings} more like these`] : shown;
}

function render({ path, matches, files, count, truncated, warnings }: Result): string {
  const body = matches ? renderLines(matches) : (files ?? []).map(oneLineName).join('\n');
  const notes = [
    count === 0 && !truncated ? `Nothing found ${path === '.' ? 'here' : `in ${path}`}.` : '',
    truncated ? `[Only the first ${count} are shown; there may be more. Search for less, or raise the limit.]` : '',
    ...warnings.map((warning) => `[${warning}]`),
  ];
  return [body, ...notes].filter(Boolean).join('\n');
}

function renderLines(matches: readonly Found[]): string {
  const lines: string[] = [];
  const hasContext = matches.some(({ context }) => context);
  for (const [index, { path, line, text, cut, context }] of matches.entries()) {
    const before = matches[index - 1];
    if (before?.path !== path) lines.push(...(before ? [''] : []), oneLineName(path));
    else if (hasContext && before.line + 1 !== line) lines.push('--');
    lines.push(`${line}${context ? '-' : ':'}${text}${cut ? ' […]' : ''}`);
  }
  return lines.join('\n');
}

function oneLineName(name: string): string {
  return oneLine(name) ? name : JSON.stringify(name);
}
