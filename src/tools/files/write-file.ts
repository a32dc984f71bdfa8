import { z } from 'zod';
import type { ToolContext } from '../../core/tool.ts';
import { formOf, inForm, plainText } from '../../lib/text-form.ts';
import { unifiedDiff } from '../../lib/unified-diff.ts';
import { defineTool } from '../define-tool.ts';
import { changeFile, type Existing } from './file-change.ts';
import { countLines } from './file-page.ts';
import { onPath, pathSchema } from './file-path.ts';

/** The old text, for the comparison. */
const comparedBytes = 1024 * 1024;

const input = z.strictObject({
  path: pathSchema.describe(
    'The file, absolute or relative to the current directory of the session. `~` is the home directory. Directories above it are made.',
  ),
  content: z
    .string()
    .max(16 * 1024 * 1024)
    .describe('The whole new content of the file.'),
});

const output = z.object({
  path: z.string().describe('As it was given.'),
  created: z.boolean().describe('Whether there was no such file before.'),
  bytes: z.number().describe('Size of the file now.'),
  lines_added: z.number().optional().describe('Lines that are new, where old and new content can be compared.'),
  lines_removed: z.number().optional().describe('Lines that are gone, where old and new content can be compared.'),
  kept: z.array(z.string()).describe('What was kept of how the old file was written: CRLF line endings, a byte order mark.'),
});

type Input = z.infer<typeof input>;
type Result = z.infer<typeof output>;

export const writeFile = defineTool<Input, Result>({
  name: 'write_file',
  title: 'Write a file',
  description:
    'Creates a file or replaces the whole content of one, all or nothing. Prefer edit_file for changes to an existing file. Keeps mode, ' +
    'owner, links and a byte order mark; where the old file has CRLF line endings and the content has only \\n, they stay CRLF.',
  hints: { readOnly: false, destructive: true, idempotent: true, openWorld: false },
  forScripts: true,
  input,
  output,
  prepare: onPath('write', write),
  render: ({ path, created, bytes, lines_added, lines_removed, kept }) => {
    const lines = lines_added === undefined ? '' : `, +${lines_added} −${lines_removed} lines`;
    const form = kept.length > 0 ? ` Kept as before: ${kept.join(', ')}.` : '';
    return `${created ? 'Created' : 'Replaced'} ${path} (${bytes} bytes${lines}).${form}`;
  },
});

async function write({ path, content }: Input, context: ToolContext): Promise<Result> {
  let result: Result | undefined;
  let existing: Existing | undefined;
  let written = content;
  const decide = (found: Existing): string => {
    existing = found;
    const known = textOf(found);
    if (known !== undefined) written = inForm(content, formOf(known));
    return written;
  };
  const meanwhile = (): void => {
    if (existing) result = { path, ...differenceOf(existing, written), kept: keptIn(written, content) };
  };
  await changeFile(context, { path, mayBeMissing: true, maxBytes: comparedBytes, guess: content, decide, meanwhile });
  if (!result) throw new Error('a file was written that was not shown before');
  return result;
}

function differenceOf(existing: Existing, written: string): Omit<Result, 'path' | 'kept'> {
  const result = { created: existing.kind === 'new', bytes: Buffer.byteLength(written) };
  if (existing.kind === 'new') return { ...result, lines_added: countLines(Buffer.from(written)), lines_removed: 0 };
  if (existing.kind !== 'text') return result;
  const { added, removed } = unifiedDiff('', plainText(existing.text), plainText(written), 0);
  return { ...result, lines_added: added, lines_removed: removed };
}

function keptIn(written: string, content: string): string[] {
  return [
    ...(written.startsWith('\uFEFF') && !content.startsWith('\uFEFF') ? ['byte order mark'] : []),
    ...(written.includes('\r\n') && !content.includes('\r\n') ? ['CRLF line endings'] : []),
  ];
}

function textOf(existing: Existing): string | undefined {
  if (existing.kind === 'text') return existing.text;
  return existing.kind === 'huge' ? existing.beginning : undefined;
}
