import { z } from 'zod';
import { HermeticError } from '../../core/errors.ts';
import type { ToolContext } from '../../core/tool.ts';
import { characterEnd, decodeUtf8 } from '../../lib/decode-utf8.ts';
import { guessType } from '../../lib/file-type.ts';
import { formOf, plainText, unixLines } from '../../lib/text-form.ts';
import { defineTool } from '../define-tool.ts';
import { type Answer, AnswerCollector, garbled, requireFile, sizeIn } from './file-answer.ts';
import { codeOf, runGuest } from './file-guest.ts';
import { countLines, lineStart, numbered, pageOf } from './file-page.ts';
import { onPath, pathSchema } from './file-path.ts';

const smallBytes = 64 * 1024;
const timeoutMs = 60_000;
const maxLines = 1_000_000_000;

const input = z.strictObject({
  path: pathSchema.describe('The file, absolute or relative to the current directory of the session. `~` is the home directory.'),
  offset: z.int().min(1).max(maxLines).default(1).describe('The first line to read, counted from 1.'),
  limit: z.int().min(1).max(100_000).default(2000).describe('The most lines to read.'),
  skip_bytes: z
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER / 2)
    .default(0)
    .describe('Bytes of the first line to skip: the `next_skip_bytes` of a page that ended within a line.'),
});

const output = z.object({
  path: z.string().describe('As it was given.'),
  kind: z.enum(['text', 'image', 'binary']).describe('Only text has content.'),
  size_bytes: z.number().optional().describe('Size of the file, where it is known.'),
  mime: z.string().optional().describe('What an image or another binary file seems to be.'),
  content: z.string().optional().describe('The text, without a byte order mark and with \\n at the end of every line.'),
  start_line: z.number().optional().describe('Number of the first line of the content.'),
  total_lines: z.number().optional().describe('Lines of the whole file.'),
  truncated: z.boolean().describe('Whether the file goes on after the content.'),
  next_offset: z.number().optional().describe('The offset that reads on.'),
  next_skip_bytes: z.number().optional().describe('To be given with it, when the page ended within a line.'),
  line_ending: z.enum(['none', 'lf', 'crlf', 'mixed']).optional().describe('How lines end in the file; edit_file and write_file keep it.'),
  bom: z.boolean().optional().describe('Whether the file starts with a byte order mark; edit_file and write_file keep it.'),
});

type Input = z.infer<typeof input>;
type Result = z.infer<typeof output>;

export const readFile = defineTool<Input, Result>({
  name: 'read_file',
  title: 'Read a file',
  description:
    'Reads a text file, with line numbers in front of the lines (number, tab, text; the number and the tab are not part of the file). ' +
    'Long files come in pages: read on with offset. Says what a binary file is instead of printing it. What was read can be used as ' +
    'old_text of edit_file.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  forScripts: true,
  input: input as z.ZodType<Input>,
  output,
  prepare: onPath('read', read),
  render,
});

async function read(wanted: Input, context: ToolContext): Promise<Result> {
  const { path, offset, limit, skip_bytes } = wanted;
  // A little more than a page, so that a line that goes on is seen to.
  const pageBytes = context.maxBytes + 16;
  const collector = new AnswerCollector(smallBytes + pageBytes + 300_000);
  const args = [path, smallBytes, offset, skip_bytes, limit, pageBytes].map(String);
  let stop = false;
  const ended = await runGuest(context, 'read', args, {
    timeoutMs,
    onOutput: (data, handle) => {
      if (stop) return;
      collector.push(data);
      // The rest of a file that has no lines need not be counted.
      const { answer } = collector;
      stop = answer?.verb === 'large' && answer.body.length >= smallBytes && decodeStart(answer.body.subarray(0, smallBytes)) === undefined;
      if (stop) void handle.kill('KILL').catch(() => undefined);
    },
  });
  if (!stop) codeOf(ended, path, 'read');
  const { answer } = collector;
  if (!answer) throw garbled();
  requireFile(answer, path);
  if (answer.verb === 'text') return fromWhole(wanted, answer.body, context.maxBytes);
  if (answer.verb === 'binary' || stop) return binary(path, answer.body, sizeIn(answer));
  if (answer.verb === 'large') return fromLarge(wanted, answer, context.maxBytes);
  throw garbled();
}

function binary(path: string, beginning: Buffer, size: number): Result {
  const mime = guessType(beginning);
  return { path, kind: mime.startsWith('image/') ? 'image' : 'binary', size_bytes: size, mime, truncated: false };
}

function fromWhole(wanted: Input, bytes: Buffer, maxBytes: number): Result {
  const text = decodeUtf8(bytes);
  if (text === undefined) return binary(wanted.path, bytes, bytes.length);
  const total = countLines(bytes);
  const start = lineStart(bytes, wanted.offset);
  if (start === undefined || (wanted.offset > 1 && total === 0)) throw pastEnd(wanted, total);
  if (wanted.skip_bytes > 0) requireWithin(wanted, (lineStart(bytes, wanted.offset + 1) ?? bytes.length) - start);
  return paged(wanted, bytes.subarray(start + wanted.skip_bytes), maxBytes, { total, size: bytes.length, sample: text });
}

function fromLarge(wanted: Input, answer: Answer, maxBytes: number): Result {
  const { body } = answer;
  const sample = decodeStart(body.subarray(0, smallBytes));
  const end = body.indexOf(10, smallBytes);
  const [, lines, length] = /^(\d{1,15}) (\d{1,15})$/.exec(body.subarray(smallBytes, end).toString()) ?? [];
  if (sample === undefined || end === -1) throw garbled();
  const total = Number(lines);
  if (wanted.offset > total) throw pastEnd(wanted, total);
  if (wanted.skip_bytes > 0) requireWithin(wanted, Number(length));
  return paged(wanted, body.subarray(end + 1), maxBytes, { total, size: sizeIn(answer), sample });
}

function paged(wanted: Input, bytes: Buffer, maxBytes: number, file: { total: number; size: number; sample: string }): Result {
  const { path, offset, skip_bytes } = wanted;
  const page = pageOf(bytes, { lines: wanted.limit, bytes: maxBytes }, skip_bytes);
  const text = decodeUtf8(page.bytes);
  if (text === undefined || page.bytes.includes(0)) return binary(path, page.bytes, file.size);
  const goesOn = page.partOfLine !== undefined;
  const next = offset + page.lines - (goesOn ? 1 : 0);
  const truncated = goesOn || next <= file.total;
  const { bom, lineEnding } = formOf(file.sample);
  return {
    path,
    kind: 'text',
    size_bytes: file.size,
    content: offset === 1 && skip_bytes === 0 ? plainText(text) : unixLines(text),
    start_line: offset,
    total_lines: file.total,
    truncated,
    ...(truncated && { next_offset: next }),
    ...(goesOn && { next_skip_bytes: page.partOfLine }),
    line_ending: lineEnding,
    bom,
  };
}

/** Text that may end within a character. */
function decodeStart(bytes: Buffer): string | undefined {
  return decodeUtf8(bytes.subarray(0, characterEnd(bytes, bytes.length)));
}

function pastEnd({ path, offset }: Input, total: number): HermeticError {
  return new HermeticError('tool/failed', `${path} has ${total} lines; there is no line ${offset}.`);
}

function requireWithin({ offset, skip_bytes }: Input, length: number): void {
  if (skip_bytes >= length)
    throw new HermeticError('tool/failed', `Line ${offset} has only ${length} bytes; ${skip_bytes} cannot be skipped.`);
}

function render(result: Result): string {
  const { path, kind, content = '', start_line = 1, total_lines = 0, next_offset, next_skip_bytes } = result;
  if (kind === 'image') return `${path} is an image (${result.mime}, ${result.size_bytes} bytes). Its content is not text.`;
  if (kind === 'binary') return `${path} is not UTF-8 text (${result.mime}, ${result.size_bytes} bytes). Its content is not shown.`;
  if (content === '') return `${path} is empty.`;
  const form = [result.bom ? 'starts with a byte order mark' : '', formWords[result.line_ending ?? 'lf']].filter(Boolean);
  const notes = [
    next_offset === undefined ? '' : `[${total_lines} lines in all. Read on with offset ${next_offset}${skipWords(next_skip_bytes)}.]`,
    form.length > 0 ? `[The file ${form.join(' and ')}, which is kept when it is edited.]` : '',
  ];
  return [numbered(content, start_line), ...notes.filter(Boolean)].join('\n');
}

const formWords = { none: '', lf: '', crlf: 'has CRLF line endings', mixed: 'has LF and CRLF line endings' };

function skipWords(skip: number | undefined): string {
  return skip === undefined ? '' : ` and skip_bytes ${skip}, because the line goes on`;
}
