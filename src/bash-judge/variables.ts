import type { Shell } from './shell.ts';
import type { Kind } from './tables/program.ts';
import { harmlessValues, harmlessVariables, runningVariables } from './tables/variables.ts';
import { touchDirectory } from './touch.ts';
import { runningIndex } from './values.ts';

const exact = new Map<string, Kind>(Object.entries(harmlessVariables).filter(([name]) => !name.includes('*')));
const harmless = Object.entries(harmlessVariables)
  .filter(([name]) => name.includes('*'))
  .map(([name, kind]): readonly [RegExp, Kind] => [expressionOf(name), kind]);
const running = runningVariables.map(expressionOf);

function expressionOf(name: string): RegExp {
  return new RegExp(`^${name.replaceAll('*', '\\w*')}$`);
}

/** Of the shell itself: exported or not, they change what later words of the command mean, or run something. */
const ofShell =
  /^(?:PATH|IFS|CDPATH|HOME|PWD|OLDPWD|DIRSTACK|ENV|BASH\w*|SHELLOPTS|PS\d|PROMPT_COMMAND|GLOBIGNORE|EXECIGNORE|FIGNORE|FUNCNEST|POSIXLY_CORRECT|HISTFILE|TIMEFORMAT)$/;

/** Looks at a variable that is set for the programs that follow, or, when it is not exported, for this shell alone. */
export function judgeVariable(name: string, values: readonly string[], shell: Shell, isExported: boolean): undefined {
  const { judgement } = shell;
  const [value = ''] = values;
  if (values.some((text) => runningIndex.test(text))) judgement.report('code/unseen', undefined, name);
  if (/^HERMETIC_/.test(name)) return judgement.report('hermetic/start', undefined, name);
  if (/^HIST\w*$/.test(name)) return judgement.report('system/erase-traces', undefined, name);
  // Security: what a name is split at, or where `~` leads, changes what the judge read.
  if (name === 'IFS' && !isExported && values.every((text) => /^[ \t\n,:;|]*$/.test(text))) return;
  const expression = Object.hasOwn(harmlessValues, name) ? harmlessValues[name] : undefined;
  if (expression && values.every((text) => text.length < 400 && expression.test(text))) return;
  const bound = `${name}=${values.length === 1 ? value : '…'}`;
  if (ofShell.test(name)) return judgement.report('code/injected', bound);
  const kind = exact.get(name);
  if (kind === undefined && running.some((expression) => expression.test(name))) return judgement.report('code/injected', bound);
  if (!isExported) return;
  const known = kind ?? harmless.find(([expression]) => expression.test(name))?.[1];
  if (known === undefined) judgement.report('variables/unknown', bound);
  else if (known === 'directory')
    for (const text of values) for (const path of text.split(':')) if (path !== '') touchDirectory(path, name, shell);
}
