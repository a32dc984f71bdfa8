import { z } from 'zod';
import type { Sandbox } from '../../core/sandbox.ts';
import type { Prepared, ToolContext } from '../../core/tool.ts';

/** A path inside the sandbox; nothing of it is ever opened outside. */
export const pathSchema = z
  .string()
  .min(1, 'a path cannot be empty')
  .max(4096, 'a path has at most 4096 characters')
  .refine((path) => !path.includes('\0'), 'a path cannot contain a NUL character');

/** How a tool is prepared that does one thing to the path it is given. */
export function onPath<Input extends { path: string }, Result>(
  kind: 'read' | 'write' | 'edit',
  run: (wanted: Input, context: ToolContext) => Promise<Result>,
): (wanted: Input, sandbox: Sandbox) => Prepared<Result> {
  return (wanted, sandbox) => ({
    actions: [{ kind, path: wanted.path, cwd: sandbox.cwd }],
    run: (context) => run(wanted, context),
  });
}
