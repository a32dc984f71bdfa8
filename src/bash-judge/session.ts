import { assign } from './assign.ts';
import { parseCommand } from './parse.ts';
import type { Shell } from './shell.ts';
import { unknown } from './values.ts';
import { judgeVariable } from './variables.ts';

/** Variables that earlier commands of the session exported: `$NAME`, as bash declares it. */
export function loadExports(shell: Shell): void {
  for (const [key, text] of Object.entries(shell.context.definitions)) {
    if (!key.startsWith('$')) continue;
    const name = key.slice(1);
    const parsed = parseCommand(text);
    const command = 'script' in parsed ? parsed.script.commands[0]?.command : undefined;
    const assignment = command?.type === 'Command' ? command.args.find((arg) => arg.type === 'Assignment' && arg.name === name) : undefined;
    if (assignment?.type === 'Assignment') assign(assignment, shell);
    shell.exported.add(name);
    judgeVariable(name, shell.variables.get(name) ?? [unknown], shell, true);
  }
}
