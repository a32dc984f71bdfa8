import { isBuiltin, runBuiltin } from './builtins.ts';
import { runDefined } from './functions.ts';
import { runFile } from './kinds.ts';
import { originIn, unknownFrom } from './made-files.ts';
import { runRow } from './row.ts';
import type { Shell } from './shell.ts';
import { programs, withoutVersion } from './tables/index.ts';
import type { Program } from './tables/program.ts';
import { rules } from './tables/rules.ts';
import { touchMention } from './touch.ts';
import { hasPlaceholder, isUnknown, runningIndex, unknown } from './values.ts';
import { runSource } from './walk.ts';

type Texts = readonly string[];

/** Security: others may end the shell, keep it from writing, or go on until its time is up. */
const goesOn = /^(?::|true|echo|printf|cat|mkdir|touch|ls|pwd|cd|cp|mv|rm)$/;

/** Judges one simple command whose words are known as far as they can be. What it prints, as far as that is known. */
export function runFields(fields: Texts, shell: Shell, stdin: Texts): Texts {
  const { judgement } = shell;
  judgement.step(1 + fields.length / 50);
  const [name, ...args] = fields;
  if (name === undefined) return [];
  // An empty first word comes of a list that may be empty: what follows may be the program.
  if (name === '') return runFields(args, shell, stdin);
  if (!goesOn.test(name)) judgement.files.doubt();
  return judgement.deeper(() => {
    if (hasPlaceholder(name) || /[*?]|\[./.test(name)) {
      judgement.report('shell/unresolved-command');
      // Security: it may be a program on the deny list, such as one that runs its arguments.
      if (args[0] !== undefined && Object.hasOwn(programs, args[0])) runFields(args, shell.fork(), stdin);
      return [unknown];
    }
    const output = (name.includes('/') ? undefined : runDefined(name, args, shell, stdin)) ?? runProgram(fields, shell, stdin);
    // Made of what comes from elsewhere, it is still that.
    const origin = originIn(args) ?? originIn(stdin);
    return origin ? output.map((text) => (text === unknown ? unknownFrom(origin) : text)) : output;
  });
}

const systemDirectory = /^(?:\/usr(?:\/local)?)?\/s?bin\/(?=[^/]+$)/;

/** Whether it is a builtin or in a table. */
export function isKnown(name: string, shell: Shell): boolean {
  return isBuiltin(name) || rowOf(name, shell) !== undefined;
}

/** Judges a command that is no function: behind `command`, `env` and the like a name means the program. */
export function runProgram(fields: Texts, shell: Shell, stdin: Texts): Texts {
  const [name = '', ...args] = fields;
  if (name === '' || hasPlaceholder(name)) {
    shell.judgement.report('shell/unresolved-command');
    return [unknown];
  }
  noteProcesses(name, args, shell);
  // Security: builtins take a word for the name of a variable, and run what stands in its index.
  if ((isBuiltin(name) || name === '[' || name === 'test') && args.some((arg) => runningIndex.test(arg)))
    shell.judgement.report('code/unseen', name);
  const program = name.replace(systemDirectory, '');
  if (program === name && !name.includes('/')) {
    const output = runBuiltin(name, args, shell, stdin);
    if (output) return output;
  }
  const module = /^python -m (.+)$/.exec(program)?.[1];
  const row = rowOf(program, shell) ?? (module === undefined ? undefined : rowOf(module, shell));
  const ofTables = Object.hasOwn(programs, program) ? programs[program] : undefined;
  // Security: a row of the owner does not take away what is denied.
  if (row && ofTables && row !== ofTables) keepDenied(shell, () => void runRow(program, ofTables, args, shell.fork(), stdin));
  // Security: the row of a file says how it is used, not whose it is.
  if (row?.isFile && program.includes('/')) runFile(program, { program, shell, stdin, rest: [], downloads: false });
  if (row) return runRow(module !== undefined && !rowOf(program, shell) ? module : program, row, args, shell, stdin);
  if (!program.includes('/')) reportUnknown(program, args, shell);
  else {
    runFile(program, { program, shell, stdin, rest: args, downloads: false });
    // A program of the workspace that has the name of a known one is used like it: bin/rails, node_modules/.bin/eslint.
    const base = program.slice(program.lastIndexOf('/') + 1);
    const known = rowOf(base, shell);
    if (known) return runRow(base, known, args, shell, stdin);
  }
  return [unknown];
}

function rowOf(program: string, { judgement }: Shell): Program | undefined {
  if (Object.hasOwn(judgement.added, program)) return judgement.added[program];
  const plain = withoutVersion(program);
  return Object.hasOwn(programs, plain) ? programs[plain] : undefined;
}

/** Security: a yes for a program covers other words too, so one that may start another program is asked about each time. */
function reportUnknown(program: string, args: Texts, shell: Shell): void {
  const [first = ''] = args;
  const starts = args.some((arg) => isUnknown(arg) || rowOf(arg.slice(arg.lastIndexOf('/') + 1), shell) !== undefined);
  const label = /^[a-z][\w-]*$/.test(first) && !starts ? `${program} ${first}` : program;
  shell.judgement.report(starts ? 'program/launcher' : 'program/unknown', label);
  lookForDenied(label, args, shell);
}

/** Security: an action on the deny list is denied also behind a program that is only asked about. */
export function lookForDenied(label: string, args: Texts, shell: Shell): void {
  for (const arg of args) touchMention(arg, label, shell);
  keepDenied(shell, () => {
    for (const [index, arg] of args.entries()) {
      if (rowOf(arg.slice(arg.lastIndexOf('/') + 1), shell)) runFields(args.slice(index), shell.fork(), [unknown]);
      else if (/\s/.test(arg) && !isUnknown(arg)) runSource(arg, shell.fork(), [unknown]);
    }
  });
}

/** Looks only for actions on the deny list. */
function keepDenied({ judgement: { found, files } }: Shell, look: () => void): void {
  const before = new Set(found.keys());
  files.search(look);
  for (const [key, { rule }] of found) if (!before.has(key) && rules[rule].answer !== 'deny') found.delete(key);
}

/** Security: ending Hermetic's processes by names or numbers that name it. */
function noteProcesses(name: string, args: Texts, shell: Shell): void {
  if (/^(?:kill|pkill|killall|skill|fuser|systemctl|service|supervisorctl|pm2|tmux|screen)$/.test(name))
    shell.judgement.endsProcesses = true;
  if (
    /^(?:ps|pgrep|pkill|pidof|killall|systemctl|service|grep|awk|lsof|fuser|pm2|supervisorctl|cat)$/.test(name) &&
    args.some((arg) => /hermetic/i.test(arg))
  )
    shell.judgement.namesHermetic = true;
}
