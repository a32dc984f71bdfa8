import { judgeValue, runFile } from './kinds.ts';
import { computesFetched } from './parameter.ts';
import { runProgram } from './run.ts';
import { type Shell, TooComplex, unionOf } from './shell.ts';
import { maxPath, resolvePaths } from './touch.ts';
import { hasPlaceholder, isUnknown, maxChoices, plainToken, runningIndex, unknown, unseenRule } from './values.ts';
import { judgeVariable } from './variables.ts';
import { runSource } from './walk.ts';

type Texts = readonly string[];
type Builtin = (args: Texts, shell: Shell, stdin: Texts) => Texts;
const nothing: Texts = [];

/** Runs a text as a command. */
function evaluate(code: string, shell: Shell, stdin: Texts, name: string): Texts {
  if (hasPlaceholder(code)) {
    shell.judgement.report(unseenRule(code), name);
    return [unknown];
  }
  return runSource(code, shell, stdin);
}

const source: Builtin = (args, shell, stdin) => {
  const [file, ...parameters] = args.filter((arg) => arg !== '--');
  if (file === undefined) return nothing;
  runFile(file, { program: 'source', shell, stdin, rest: parameters, downloads: false });
  return [unknown];
};

const harmlessOptions = /^[-+][euxvfEhmbCT]*o?$/;
const harmlessNames =
  /^(?:pipefail|errexit|nounset|xtrace|verbose|noglob|errtrace|noclobber|functrace|monitor|notify|braceexpand|hashall)$/;

const set: Builtin = (args, shell) => {
  if (args.length === 0) shell.judgement.report('credentials/environment', 'set');
  for (const [at, arg] of args.entries()) {
    if (/^[-+]\w*o$/.test(args[at - 1] ?? '') && harmlessNames.test(arg)) continue;
    if (arg === '--' || arg === '-' || !/^[-+]./.test(arg)) {
      shell.parameters = /^--?$/.test(arg) ? args.slice(at + 1) : args.slice(at);
      break;
    }
    if (!harmlessOptions.test(arg)) shell.judgement.report('program/option', 'set', arg);
  }
  return [unknown];
};

const harmlessShopts =
  /^(?:-[suqp]+|-o|nullglob|failglob|extglob|globstar|inherit_errexit|expand_aliases|checkwinsize|histappend|dirspell|cmdhist|pipefail|errexit|nounset)$/;

const shopt: Builtin = (args, shell) => {
  // Security: others change which files a word means.
  const other = args.find((arg) => !harmlessShopts.test(arg));
  if (other !== undefined) shell.judgement.report('program/option', 'shopt', other);
  if (args.includes('nullglob')) shell.judgement.dropsPatterns = true;
  return [unknown];
};

/** Sets a variable to something that is only known when it runs. */
function setUnknown(name: string, values: Texts, shell: Shell): void {
  if (!/^\w+$/.test(name)) shell.judgement.report('code/unseen', undefined, name);
  shell.arrays.delete(name);
  shell.set(name, values);
  judgeVariable(name, values, shell, shell.exported.has(name));
}

/** The options of a builtin, the letters of which take a value. */
function split(args: Texts, letters: string): { options: readonly (readonly [string, string])[]; rest: Texts } {
  const options: (readonly [string, string])[] = [];
  let at = 0;
  for (; at < args.length; at++) {
    const arg = args[at] ?? '';
    if (arg === '--') return { options, rest: args.slice(at + 1) };
    if (!/^-./.test(arg)) break;
    for (let letter = 1; letter < arg.length; letter++) {
      const name = arg[letter] ?? '';
      if (!letters.includes(name)) options.push([name, '']);
      else {
        options.push([name, arg.slice(letter + 1) || (args[++at] ?? '')]);
        break;
      }
    }
  }
  return { options, rest: args.slice(at) };
}

const read: Builtin = (args, shell, stdin) => {
  const { options, rest } = split(args, 'adinNptu');
  const arrays = options.filter(([letter]) => letter === 'a').map(([, name]) => name);
  const lines = stdin.flatMap((text) => text.split('\n').filter((line) => line !== ''));
  const names = rest.length > 0 || arrays.length > 0 ? rest : ['REPLY'];
  const isRaw = options.some(([letter]) => letter === 'r');
  const isPlain = options.every(([letter, value]) => /[rps]/.test(letter) || (letter === 'd' && value === ''));
  const areWhole = lines.length > 0 && lines.length <= 48 && lines.every((line) => line === line.trim() && (isRaw || !line.includes('\\')));
  for (const name of names)
    setUnknown(
      name,
      names.length === 1 && isPlain && areWhole && !shell.variables.get('IFS')?.some((text) => text !== '') ? ['', ...lines] : [unknown],
      shell,
    );
  for (const name of arrays) setArray(name, [unknown], shell);
  return nothing;
};

function setArray(name: string, elements: Texts, shell: Shell): void {
  setUnknown(name, [unknown], shell);
  shell.variables.delete(name);
  shell.arrays.set(name, elements);
}

const mapfile: Builtin = (args, shell, stdin) => {
  const { options, rest } = split(args, 'dnOsuCc');
  if (options.some(([letter]) => letter === 'C')) shell.judgement.report('code/unseen', 'mapfile');
  const isPlain = options.every(([letter]) => letter === 't') && stdin.length === 1;
  for (const name of rest.length > 0 ? rest : ['MAPFILE']) setArray(name, isPlain ? (stdin[0] ?? '').split('\n') : [unknown], shell);
  return nothing;
};

/** Security: what these mean is read before aliases are looked at here, and after that in bash. */
const reserved = /^(?:if|then|else|elif|fi|for|while|until|do|done|case|esac|select|function|time|coproc|in|\{|\}|!|\[\[|\]\])$/;

const alias: Builtin = (args, shell) => {
  for (const arg of args) {
    const [, name, text] = /^([^=]+)=(.*)$/s.exec(arg) ?? [];
    if (name === undefined || text === undefined) continue;
    if (hasPlaceholder(arg) || reserved.test(name) || isBuiltin(name)) shell.judgement.report('code/unseen', 'alias', name);
    else shell.aliases.set(name, text);
  }
  return [unknown];
};

const trap: Builtin = (args, shell) => {
  const [code] = args.filter((arg) => arg !== '--');
  if (code === undefined || code === '-' || code === '' || /^-[lp]+$/.test(code)) return nothing;
  const way = shell.fork();
  evaluate(code, way, [unknown], 'trap');
  // Security: it is judged again with what is known at the end.
  shell.judgement.traps.push(code);
  // It runs at any time, and perhaps again and again.
  if (way.workingDirectories.join('\n') !== shell.workingDirectories.join('\n')) way.variables.set('PWD', [unknown]);
  shell.become([shell.fork(), way]);
  return nothing;
};

const unset: Builtin = (args, shell) => {
  for (const name of args) {
    if (name.startsWith('-')) continue;
    if (runningIndex.test(name) || isUnknown(name)) shell.judgement.report('code/unseen', 'unset', name);
    const [base = ''] = name.split('[');
    shell.arrays.delete(base);
    shell.set(base, name.includes('[') ? [unknown] : ['']);
    if (shell.functions.has(name)) shell.judgement.report('shell/unresolved-command', undefined, name);
    if (name === 'HISTFILE') shell.judgement.report('system/erase-traces', 'unset');
    if (name === 'PATH' || name === 'HOME' || name === 'IFS') judgeVariable(name, [''], shell, true);
  }
  return nothing;
};

/** Whether it does what it says: with other words it fails, and the next command runs. */
function isNumber(args: Texts): boolean {
  return args.length === 0 || (args.length === 1 && /^[\d\uE002]+$/.test(args[0] ?? ''));
}

const end: Builtin = (args, shell) => {
  if (isNumber(args)) shell.ended = true;
  return nothing;
};

/** Goes on somewhere else, with what is known here. */
function leave(places: Shell[] | undefined, args: Texts, shell: Shell): Texts {
  if (!places) return nothing;
  places.push(shell.fork());
  if (places.length > maxChoices) throw new TooComplex();
  // With another word it may fail and go on.
  if (isNumber(args)) shell.ended = true;
  return nothing;
}

function declare(exports: boolean, isReadonly = false): Builtin {
  return (args, shell) => {
    const names = args.filter((arg) => !/^[-+]/.test(arg));
    const flags = args.filter((arg) => /^[-+]/.test(arg)).join('');
    if (names.length === 0 && !/[pfF]/.test(flags)) shell.judgement.report('credentials/environment', exports ? 'export' : 'declare');
    if (/-\w*p/.test(flags) && names.length === 0) shell.judgement.report('credentials/environment', exports ? 'export' : 'declare');
    // A reference to another variable, and a function for other shells.
    if (/[nluc]/.test(flags.replace('--', '')) || (/f/.test(flags) && (exports || isReadonly || /r/.test(flags))))
      shell.judgement.report('code/injected', exports ? 'export' : 'declare');
    for (const arg of names) {
      const [, name = '', value] = /^([^=]*)(?:=(.*))?$/s.exec(arg) ?? [];
      if (!/^\w+$/.test(name) || value?.startsWith('(')) shell.judgement.report('code/unseen', undefined, name);
      if (shell.callers.length > 0 && !/g/.test(flags) && !exports) shell.declareLocal(name);
      if (value !== undefined) shell.set(name, [value]);
      if (isReadonly || /r/.test(flags)) shell.readonlyNames.add(name);
      if (/i/.test(flags) && (shell.variables.get(name) ?? []).some((text) => computesFetched(text, shell)))
        shell.judgement.report('code/unseen', undefined, name);
      if (/\+\w*x/.test(flags)) shell.judgement.report('code/unseen', undefined, name);
      const isExported = exports || /x/.test(flags) || shell.exported.has(name);
      if (isExported) shell.exported.add(name);
      if (isUnknown(name)) shell.judgement.report('variables/unknown');
      else if (shell.variables.has(name) || shell.arrays.has(name))
        judgeVariable(name, shell.variables.get(name) ?? [unknown], shell, isExported);
    }
    return names.length === 0 || /p/.test(flags) ? [unknown] : nothing;
  };
}

const printf: Builtin = (args, shell) => {
  if (args[0]?.startsWith('-v')) setUnknown(args[0].slice(2) || (args[1] ?? ''), [unknown], shell);
  return [unknown];
};

const cd: Builtin = (args, shell) => {
  const [target = shell.variables.get('HOME')?.[0] ?? unknown] = args.filter((arg) => !/^-[LPe@]+$|^--$/.test(arg));
  go(target === '-' ? (shell.variables.get('OLDPWD') ?? [unknown]) : placesOf(target, shell), shell);
  return nothing;
};

/** Which of the directories on the stack it is about is not followed: it may be any. */
const pushd: Builtin = (args, shell) => {
  const [target] = args.filter((arg) => arg !== '-n' && arg !== '--');
  const stack = shell.variables.get('DIRSTACK') ?? [unknown];
  const places = target === undefined || /^[+-]\d+$/.test(target) ? stack : placesOf(target, shell);
  const known = shell.variables.get('DIRSTACK') ?? [];
  shell.variables.set('DIRSTACK', unionOf([known, args.includes('-n') ? places : shell.workingDirectories]));
  if (!args.includes('-n')) go(places, shell);
  return nothing;
};

const popd: Builtin = (_args, shell) => {
  const stack = shell.variables.get('DIRSTACK') ?? [unknown];
  go(stack, shell);
  // An earlier command may have left something on it.
  shell.variables.set('DIRSTACK', unionOf([stack, [unknown]]));
  return nothing;
};

function placesOf(target: string, shell: Shell): Texts {
  return resolvePaths(target, shell).map((path) => (path === undefined || path.length > maxPath ? unknown : path));
}

function go(places: Texts, shell: Shell): void {
  shell.judgement.step(places.length);
  const before = shell.workingDirectories;
  // Security: from Hermetic's own files it may seem to lead to the session's, and fail. What `cd -` then means is what it meant before.
  shell.ifFailed = new Map([
    ['PWD', before],
    ['OLDPWD', shell.variables.get('OLDPWD') ?? [unknown]],
  ]);
  shell.variables.set('OLDPWD', before);
  shell.variables.set('PWD', unionOf([places]));
}

/** Runs what follows as a program, not as a function. */
const command: Builtin = (args, shell, stdin) => {
  if (/^-[vV]+$/.test(args[0] ?? '')) return [unknown];
  const words = args[0] === '-p' || args[0] === '--' ? args.slice(1) : args;
  return words.length === 0 ? nothing : runProgram(words, shell, stdin);
};

const exec: Builtin = (args, shell, stdin) => {
  const { options, rest } = split(args, 'a');
  if (options.length > 0) shell.judgement.report('program/option', 'exec', `-${options[0]?.[0]}`);
  if (rest.length === 0) return nothing;
  const output = runProgram(rest, shell, stdin);
  shell.ended = true;
  return output;
};

/** Sets the names that arithmetic sets. */
function assignArithmetic(text: string, shell: Shell): void {
  for (const [, before, name, after] of text.matchAll(
    /(\+\+|--)?([A-Za-z_]\w*)(?:\[[^\]]*\])?\s*(\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))?/g,
  )) {
    if (name !== undefined && (before || after)) setUnknown(name, [plainToken], shell);
  }
}

const arithmetic: Builtin = (args, shell) => {
  if (args.some((arg) => arg.includes('[') || computesFetched(arg, shell))) shell.judgement.report('code/unseen', 'let');
  for (const arg of args) assignArithmetic(arg, shell);
  return nothing;
};

const kill: Builtin = (args, shell, stdin) => {
  const [first = ''] = args;
  if (/^-[lL]$/.test(first)) return [unknown];
  const signal = /^-[sn]$/.test(first) ? args[1] : /^-\w/.test(first) && args.length > 1 ? first.slice(1) : undefined;
  const afterSignal = /^-[sn]$/.test(first) ? args.slice(2) : signal === undefined ? args : args.slice(1);
  // It only tells whether there is such a process.
  if (signal === '0' && afterSignal.every((arg) => /^\d+$/.test(arg))) return nothing;
  for (const arg of afterSignal) if (arg !== '--') judgeValue('pid', arg, { program: 'kill', shell, stdin, rest: [], downloads: false });
  return nothing;
};

const show: Builtin = () => [unknown];

const builtins: Readonly<Record<string, Builtin>> = {
  ':': () => nothing,
  cd,
  pushd,
  popd,
  dirs: show,
  pwd: (_args, shell) => shell.workingDirectories,
  eval: (args, shell, stdin) => evaluate(args.join(' '), shell, stdin, 'eval'),
  source,
  '.': source,
  set,
  shopt,
  shift: (args, shell) => {
    const count = args.length === 0 ? 1 : /^\d+$/.test(args[0] ?? '') ? Number(args[0]) : Number.NaN;
    const { parameters } = shell;
    shell.judgement.lookThrough(parameters);
    // With another number it fails, and shifts nothing.
    shell.parameters = parameters && count <= parameters.length && !parameters.some(isUnknown) ? parameters.slice(count) : undefined;
    return nothing;
  },
  read,
  mapfile,
  readarray: mapfile,
  getopts: (args, shell) => {
    setUnknown(args[1] ?? 'OPTARG', [unknown], shell);
    setUnknown('OPTARG', [unknown], shell);
    return nothing;
  },
  let: arithmetic,
  alias,
  unalias: (args, shell) => {
    for (const name of args) shell.aliases.delete(name);
    return nothing;
  },
  trap,
  unset,
  exit: end,
  return: (args, shell) => leave(shell.callers.length > 0 ? shell.frame.returns : undefined, args, shell),
  break: (args, shell) => leave(shell.exits, args, shell),
  continue: (args, shell) => leave(shell.exits, args, shell),
  declare: declare(false),
  typeset: declare(false),
  export: declare(true),
  readonly: declare(false, true),
  local: (args, shell, stdin) => (args.length === 0 ? nothing : declare(false)(args, shell, stdin)),
  printf,
  command,
  builtin: command,
  exec,
  type: show,
  hash: (args, shell) => {
    if (args.some((arg) => /^-\w*p/.test(arg))) shell.judgement.report('code/injected', 'hash');
    return nothing;
  },
  kill,
  wait: show,
  jobs: show,
  umask: show,
  ulimit: show,
  times: show,
  help: show,
  disown: show,
  fg: show,
  bg: show,
  history: (args, shell) => {
    if (args.length > 0 && !/^\d+$/.test(args[0] ?? '')) shell.judgement.report('system/erase-traces', 'history');
    else shell.judgement.report('credentials/read', 'history');
    return [unknown];
  },
};

export function isBuiltin(program: string): boolean {
  return Object.hasOwn(builtins, program);
}

/** Follows a builtin of the shell; undefined when the program is not a builtin. */
export function runBuiltin(program: string, args: Texts, shell: Shell, stdin: Texts): Texts | undefined {
  return isBuiltin(program) ? builtins[program]?.(args, shell, stdin) : undefined;
}
