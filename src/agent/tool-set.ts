import type { ToolSet } from 'ai';
import type { Tool } from '../core/tool.ts';
import { inputSchemaOf } from '../lib/json-schema.ts';
import { tokensOfText } from './size.ts';

const tokens = new WeakMap<Tool, number>();
const shown = new WeakMap<Tool, ToolSet[string]>();

/** About how many tokens its description takes. A tool never changes, so each is counted once. */
export function tokensOfTool(tool: Tool): number {
  const count = tokens.get(tool) ?? tokensOfText(tool.description + JSON.stringify(schemaOf(tool)));
  tokens.set(tool, count);
  return count;
}

/** Security: without anything to execute and without a check of the input: calls go through the toolbox that the turn gives. */
export async function toolSet(tools: readonly Tool[]): Promise<ToolSet> {
  const { jsonSchema, tool } = await import('ai');
  return Object.fromEntries(
    tools.map((each) => {
      const known =
        shown.get(each) ??
        tool({ description: each.description, inputSchema: jsonSchema(schemaOf(each) as Parameters<typeof jsonSchema>[0]) });
      shown.set(each, known);
      return [each.name, known];
    }),
  );
}

function schemaOf(tool: Tool): Record<string, unknown> {
  const { $schema: _dialect, ...schema } = inputSchemaOf(tool.input);
  return schema;
}
