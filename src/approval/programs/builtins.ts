import { noteExport, noteLasting } from '../shell/assignments.ts';
import { readOptions } from '../shell/options.ts';
import { contentsOf } from '../shell/redirections.ts';
import type { State } from '../shell/state.ts';
import { isFromNetwork, isUnknown, plainToken, unknown } from '../shell/values.ts';
import { changeDirectory, popDirectory, pushDirectory } from './directories.ts';
import { printed } from './outputs.ts';

type Texts = readonly string[];
type Builtin = (args: Texts, state: State, stdin: Texts) => Texts;

/** Reports code that only exists when it runs. */
export function reportUnseen(code: string, program: string | undefined, state: State): boolean {
  if (isFromNetwork(code)) state.judgement.report('network/pipe-to-interpreter', program);
  else if (isUnknown(code) && !/[\uE004]/.test(code)) state.judgement.report('code/unseen', program);
  return isUnknown(code);
}

const evaluate: Builtin = (args, state, stdin) => {
  const code = args.join(' ');
  reportUnseen(code, 'eval', state);
  return state.judgement.runSource(code, state, stdin);
};

const source: Builtin = (args, state, stdin) => {
  const [file, ...parameters] = args.filter((arg) => arg !== '--');
  if (file === undefined) return [''];
  const texts = file === '/dev/stdin' || file === '-' ? stdin : contentsOf(file, state);
  const before = state.parameters;
  if (parameters.length > 0) state.parameters = parameters;
  for (const text of texts) {
    // A file the script did not make is an ordinary file of the project.
    if (text === unknown && !isUnknown(file) && texts !== stdin && !file.startsWith('/dev/fd/')) continue;
    if (isFromNetwork(text) && !file.startsWith('/dev/')) state.judgement.report('network/download-then-run', 'source');
    else reportUnseen(text, 'source', state);
    state.judgement.runSource(text, state, ['']);
  }
  state.parameters = before;
  return [unknown];
};

const setParameters: Builtin = (args, state) => {
  const start = args.findIndex((arg) => arg === '--' || !/^[-+]/.test(arg));
  if (args.length === 0) state.judgement.report('credentials/environment', 'set');
  if (start !== -1) state.parameters = args[start] === '--' ? args.slice(start + 1) : args.slice(start);
  return [''];
};

const read: Builtin = (args, state, stdin) => {
  const { rest } = readOptions(args, { short: 'adinNptu' });
  const names = rest.length > 0 ? rest : ['REPLY'];
  const arrays = readOptions(args, { short: 'adinNptu' }).valuesOf('a');
  const lines = stdin.map((text) => text.split('\n')[0] ?? '');
  const known = names.length === 1 && stdin.every((text) => text !== '' && !isUnknown(text)) ? lines : [unknown];
  for (const name of names) {
    state.variables.set(name, known);
    noteLasting(name, state);
  }
  for (const name of arrays) state.arrays.set(name, [unknown]);
  return [''];
};

const readArray: Builtin = (args, state) => {
  for (const name of readOptions(args, { short: 'dnOsuCc' }).rest) state.arrays.set(name, [unknown]);
  return [''];
};

const alias: Builtin = (args, state) => {
  for (const arg of args) {
    const [, name, text] = /^([^=]+)=(.*)$/s.exec(arg) ?? [];
    if (name === undefined || text === undefined) continue;
    state.aliases.set(name, text);
    reportUnseen(text, 'alias', state);
    // Security: it runs under its name later, in a command that may look like another.
    const way = state.fork();
    way.callers = [...state.callers, name, name];
    state.judgement.runSource(text, way, ['']);
  }
  return [''];
};

const trap: Builtin = (args, state) => {
  const [code] = args.filter((arg) => arg !== '--');
  if (code !== undefined && code !== '-' && code !== '' && !/^-[lp]+$/.test(code)) {
    reportUnseen(code, 'trap', state);
    const way = state.fork();
    state.judgement.runSource(code, way, ['']);
    // It runs at any time, and perhaps again and again.
    if (way.workingDirectories.join('\n') !== state.workingDirectories.join('\n')) way.variables.set('PWD', [unknown]);
    state.become([state.fork(), way]);
  }
  return [''];
};

/** Security: with these the words of later commands mean other files than they say. */
export function noteOptions(names: Texts, program: string, state: State): void {
  if (state.circumstances.ownPaths.length > 0 && names.some((name) => isUnknown(name) || /^(?:cdable_vars|dotglob|nocaseglob)$/.test(name)))
    state.judgement.report('code/injected', program);
}

const shellOptions: Builtin = (args, state) => {
  if (args.some((arg) => /^-\w*s/.test(arg))) noteOptions(args, 'shopt', state);
  return [''];
};

const unset: Builtin = (args, state) => {
  for (const name of args) {
    if (name.startsWith('-')) continue;
    state.variables.set(name, ['']);
    state.arrays.delete(name);
    state.functions.delete(name);
    if (/^HISTFILE$/.test(name)) state.judgement.report('system/erase-traces', 'unset');
  }
  return [''];
};

const end: Builtin = (_args, state) => {
  state.ended = true;
  return [''];
};

const declare: Builtin = (args, state) => {
  const names = args.filter((arg) => !arg.startsWith('-'));
  const flags = args.filter((arg) => arg.startsWith('-')).join('');
  if (names.length === 0 && !/[fFA-Z]/.test(flags)) state.judgement.report('credentials/environment', 'declare');
  for (const arg of names) {
    const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(arg) ?? [];
    if (name !== undefined && value !== undefined && !state.variables.has(name) && !state.arrays.has(name))
      state.variables.set(name, [value]);
  }
  for (const arg of names) {
    const [name = '', other = ''] = arg.split('=');
    if (/x/.test(flags)) noteExport(name, state);
    if (!/n/.test(flags)) continue;
    // A reference to another variable may be any of them.
    state.variables.set(name, [unknown]);
    noteLasting(other, state);
  }
  return [''];
};

const printFormatted: Builtin = (args, state) => {
  if (args[0] !== '-v' || args[1] === undefined) return printed(args);
  state.variables.set(args[1], printed(args.slice(2)));
  noteLasting(args[1], state);
  return [''];
};

const builtins: Readonly<Record<string, Builtin>> = {
  cd: changeDirectory,
  pushd: pushDirectory,
  popd: popDirectory,
  eval: evaluate,
  source,
  '.': source,
  set: setParameters,
  shopt: shellOptions,
  shift: (args, state) => {
    const count = Number(args[0] ?? 1);
    const last = state.parameters?.at(-1);
    if (state.parameters && !(state.parameters.length === 1 && last !== undefined && isUnknown(last)))
      state.parameters = state.parameters.slice(Number.isInteger(count) ? count : 1);
    return [''];
  },
  read,
  mapfile: readArray,
  readarray: readArray,
  getopts: (args, state) => {
    if (args[1]) state.variables.set(args[1], [plainToken]);
    state.variables.set('OPTARG', [unknown]);
    return [''];
  },
  let: () => [''],
  alias,
  trap,
  unset,
  exit: end,
  return: end,
  declare,
  typeset: declare,
  export: (args, state, stdin) => declare(args.some((arg) => arg.startsWith('-')) ? args : ['-x', ...args], state, stdin),
  readonly: declare,
  local: (args, state, stdin) => (args.length === 0 ? [''] : declare(args, state, stdin)),
  printf: printFormatted,
};

/** What a builtin of the shell does to its state; undefined when the program is none of those. */
export function runBuiltin(program: string, args: Texts, state: State, stdin: Texts): Texts | undefined {
  return Object.hasOwn(builtins, program) ? builtins[program]?.(args, state, stdin) : undefined;
}
