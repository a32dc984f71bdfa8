import * as z from 'zod';
import { kinds, type Program, rules } from '../bash-judge/index.ts';
import { notes } from '../lib/setting-kinds.ts';

const kindNames: ReadonlySet<string> = new Set(kinds);

function flawIn(text: string, expression: RegExp, what: string): string | undefined {
  for (const token of text.split(/\s+/).filter((one) => one !== '')) {
    const [, kind, rule] = expression.exec(token) ?? [undefined, ''];
    if (kind === '') return `${token} is no ${what}`;
    if (kind !== undefined && !kindNames.has(kind)) return `${token}: there is no kind "${kind}" (${kinds.join(', ')})`;
    if (rule !== undefined && !Object.hasOwn(rules, rule)) return `${token}: there is no rule "${rule}"`;
  }
  return undefined;
}

const optionToken = /^--?[\w#.+][\w.+-]*(?::([a-z]+)\??)?(?:!([a-z/-]+))?$/;
const operandToken = /^([a-z]+)[?*+]?$/;

function checked(expression: RegExp, what: string, expects: string) {
  return z
    .string()
    .superRefine((text, context) => {
      const flaw = flawIn(text, expression, what);
      if (flaw !== undefined) context.addIssue({ code: 'custom', message: flaw });
    })
    .register(notes, { expects });
}

const row: z.ZodType<Program> = z
  .strictObject({
    options: checked(optionToken, 'option', 'options apart by blanks, such as "-v --output:write"').optional(),
    operands: checked(operandToken, 'operand', 'kinds of operands, such as "read* write"').optional(),
    get subcommands() {
      return z
        .record(z.string().regex(/^[\w.:|-]+$/), row)
        .register(notes, { expects: 'a map from subcommands to rows' })
        .optional();
    },
    optionsFirst: z.literal(true).optional(),
    words: z.literal(true).optional(),
  })
  .register(notes, { expects: 'a row: options, operands, subcommands' }) as z.ZodType<Program>;

/** Rows for the tables of the judge. What the table's own row denies stays denied. */
export function programRows() {
  return z.record(z.string().regex(/^[\w.+-]+$/), row).register(notes, { expects: 'a map from names of programs to rows' });
}
