import { z } from 'zod';
import { HermeticError } from '../../core/errors.ts';
import type { ToolContext } from '../../core/tool.ts';
import { plainText } from '../../lib/text-form.ts';
import { type TextDiff, unifiedDiff } from '../../lib/unified-diff.ts';
import { defineTool } from '../define-tool.ts';
import { type AppliedEdit, applyEdits } from './edits.ts';
import { changeFile, type Existing } from './file-change.ts';
import { onPath, pathSchema } from './file-path.ts';

const maxBytes = 8 * 1024 * 1024;
const maxCharacters = 1024 * 1024;

const input = z.strictObject({
  path: pathSchema.describe('The file, absolute or relative to the current directory of the session. `~` is the home directory.'),
  edits: z
    .array(
      z.strictObject({
        old_text: z
          .string()
          .min(1, 'old_text cannot be empty; write_file creates a file')
          .max(maxCharacters)
          .describe(
            'The text to replace, as read_file shows it, without line numbers. It must be there exactly once unless replace_all is set; give some lines around it where it is not.',
          ),
        new_text: z.string().max(maxCharacters).describe('What is to stand there instead. Empty to delete.'),
        replace_all: z.boolean().default(false).describe('Replaces every occurrence.'),
      }),
    )
    .min(1)
    .max(100)
    .describe('Applied in order, each to the result of the one before. When one does not apply, nothing is changed.'),
});

const output = z.object({
  path: z.string().describe('As it was given.'),
  edits: z
    .array(
      z.object({
        replacements: z.number().describe('How many places were changed.'),
        matched: z
          .enum(['exact', 'trailing-whitespace', 'indentation'])
          .describe('What had to be overlooked to find old_text; the indentation of the file was kept.'),
        line: z.number().describe('Line of the first place, before this edit.'),
      }),
    )
    .describe('One for each edit, in order.'),
  lines_added: z.number().describe('Lines that are new.'),
  lines_removed: z.number().describe('Lines that are gone.'),
  diff: z.string().describe('Unified diff of the change.'),
  diff_truncated: z.boolean().describe('Whether some of the diff was left out.'),
});

type Input = z.infer<typeof input>;
type Result = z.infer<typeof output>;

export const editFile = defineTool<Input, Result>({
  name: 'edit_file',
  title: 'Edit a file',
  description:
    'Replaces parts of a text file, several at once if need be, all or nothing, and shows the difference. Looks for old_text exactly, then ' +
    'as whole lines with other whitespace at their ends, then with other indentation. When it is not there or there more than once, says ' +
    'where to look. Keeps line endings, byte order mark, mode, owner and links.',
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: false },
  forScripts: true,
  input: input as z.ZodType<Input>,
  output,
  prepare: onPath('edit', edit),
  render,
});

async function edit({ path, edits }: Input, context: ToolContext): Promise<Result> {
  let before = '';
  let after = '';
  let applied: AppliedEdit[] = [];
  let diff: TextDiff | undefined;
  const decide = (existing: Existing): string => {
    if (existing.kind !== 'text') throw notEditable(path, existing);
    before = existing.text;
    ({ text: after, applied } = applyEdits(before, edits));
    return after;
  };
  const meanwhile = (): void => {
    diff = unifiedDiff(path, plainText(before), plainText(after), Math.floor(context.maxBytes / 2));
  };
  await changeFile(context, { path, mayBeMissing: false, maxBytes, decide, meanwhile });
  const { added, removed, text, truncated } = diff ?? { added: 0, removed: 0, text: '', truncated: true };
  return { path, edits: applied, lines_added: added, lines_removed: removed, diff: text, diff_truncated: truncated };
}

function notEditable(path: string, existing: Existing): HermeticError {
  if (existing.kind === 'huge')
    return new HermeticError('tool/failed', `${path} has ${existing.size} bytes, more than ${maxBytes / 1024 / 1024} MiB.`, {
      hint: 'Edit it with a program such as sed in the terminal.',
    });
  return new HermeticError('tool/failed', `${path} is not UTF-8 text, or cannot be read. Nothing was changed.`);
}

function render({ path, edits, lines_added, lines_removed, diff, diff_truncated }: Result): string {
  const places = edits.reduce((sum, { replacements }) => sum + replacements, 0);
  const tolerant = edits.flatMap(({ matched, line }) => (matched === 'exact' ? [] : [`line ${line} (${matched.replace('-', ' ')})`]));
  const lines = [
    `Edited ${path}: ${places} ${places === 1 ? 'place' : 'places'}, +${lines_added} −${lines_removed} lines.`,
    ...(tolerant.length > 0 ? [`Found only with other whitespace: ${tolerant.join(', ')}.`] : []),
    '',
    diff.trimEnd(),
    ...(diff_truncated ? ['[the rest of the difference is left out]'] : []),
  ];
  return lines.join('\n').trimEnd();
}
