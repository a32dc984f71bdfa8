import { HermeticError } from '../core/errors.ts';
import type { ExecRequest } from '../core/sandbox.ts';
import { looksLikeVariable } from '../lib/variable-name.ts';
import type { Call } from './spawner.ts';

/** A call that does not know yet where it starts. */
export type Order = Omit<Call, 'sessionDirectory'>;

/** Throws when no shell could be told this. */
export function orderOf({ command, args = [], cwd = '', env = {}, stdin = 'empty', stateless = false }: ExecRequest): Order {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  for (const text of [command, cwd, ...args, ...variables]) {
    if (text.includes('\0'))
      throw new HermeticError('sandbox/bad-command', 'A command, its arguments and its variables cannot contain a NUL byte.');
  }
  for (const name of Object.keys(env)) {
    if (!looksLikeVariable(name))
      throw new HermeticError('sandbox/bad-command', `${JSON.stringify(name)} cannot be the name of a variable.`);
  }
  return {
    script: bytes(unixLines(command)),
    directory: bytes(cwd),
    input: stdin,
    stateless,
    variables: variables.map(bytes),
    args: args.map(bytes),
  };
}

function bytes(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** A script in which every line ends the Windows way is text from Windows; any other carriage return is the author's. */
function unixLines(script: string): string {
  return script.includes('\r\n') && !/(?<!\r)\n/.test(script) ? script.replaceAll('\r\n', '\n') : script;
}
