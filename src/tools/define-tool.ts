import type { ZodError } from 'zod';
import { HermeticError } from '../core/errors.ts';
import type { Output, Tool, ToolDefinition } from '../core/tool.ts';

/** A tool whose input is checked before its author sees it. */
export function defineTool<Input, Result extends Output>(definition: ToolDefinition<Input, Result>): Tool {
  const { render, ...face } = definition;
  return {
    ...face,
    prepare(input, session) {
      const parsed = definition.input.safeParse(input);
      if (!parsed.success) throw new HermeticError('tool/bad-input', explain(definition.name, parsed.error));
      const { actions, run, outcome } = definition.prepare(parsed.data, session);
      return {
        actions,
        run: async (context) => {
          const data = await run(context);
          return { data, text: render(data), ...(outcome && { outcome: outcome(data) }) };
        },
      };
    },
  };
}

/** Every mistake with its place, so that a model can mend all of them at once. */
function explain(name: string, { issues }: ZodError): string {
  const mistakes = issues.map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`));
  return `The input of ${name} is not valid. ${mistakes.join('; ')}.`;
}
