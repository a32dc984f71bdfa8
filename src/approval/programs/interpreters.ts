import { isProtectedRoot } from '../checks/paths.ts';
import { resolvePaths } from '../checks/resolve.ts';
import { readOptions } from '../shell/options.ts';
import type { State } from '../shell/state.ts';
import { fromNetwork, isFromNetwork, isUnknown, unknown } from '../shell/values.ts';
import { noteOptions, reportUnseen } from './builtins.ts';
import { judgeCode } from './code.ts';
import type { CodeLanguage } from './harmless-code.ts';

type Texts = readonly string[];

const shells = /^(?:r?bash|sh|dash|zsh|[mp]?dksh|m?ksh|ksh93|ash|fish|t?csh|yash|osh|hush|elvish|nu)(?:[-.]?\d[\d.]*)?$/;

interface Interpreter {
  language: CodeLanguage;
  /** Letters whose word is code, letters that take another word, letters after which the program is a module. */
  code: string;
  valued?: string;
  module?: string;
  longCode?: readonly string[];
  longValued?: readonly string[];
  /** Without an option, the first word is code. */
  firstIsCode?: boolean;
}

const interpreters: readonly (readonly [RegExp, Interpreter])[] = [
  [
    /^(?:python|pypy|ipython|micropython)[\d.]*(?:-dbg|w|m)?$/,
    { language: 'python', code: 'c', valued: 'WXQ', module: 'm', longValued: ['check-hash-based-pycs'] },
  ],
  [
    /^(?:node|nodejs|iojs|tsx|ts-node|bun|electron)[\d.]*$/,
    {
      language: 'javascript',
      code: 'ep',
      valued: 'rC',
      longCode: ['eval', 'print'],
      longValued: [
        'require',
        'import',
        'loader',
        'experimental-loader',
        'env-file',
        'conditions',
        'max-old-space-size',
        'inspect-port',
        'input-type',
        'title',
      ],
    },
  ],
  [/^perl[\d.]*$/, { language: 'perl', code: 'eE', valued: '' }],
  [/^(?:j?ruby|rbx)[\d.]*$/, { language: 'ruby', code: 'e', valued: 'rICFEK' }],
  [/^php[\d.]*(?:-cli)?$/, { language: 'php', code: 'rBRE', valued: 'cdfStz', longCode: ['run'] }],
  [/^(?:lua(?:jit)?[\d.]*|texlua)$/, { language: 'other', code: 'e', valued: 'l' }],
  [
    /^(?:R|Rscript|julia|groovy|scala|elixir|erl|ocaml|raku|perl6|crystal|swift|racket|clojure|clj|bb|janet|tclsh[\d.]*|expect|wish|jshell|kotlin|nim|dart)$/,
    { language: 'other', code: 'eEcrK', longCode: ['eval', 'expr', 'execute', 'command'] },
  ],
  [
    /^(?:osascript|guile|sbcl|emacs|mongosh?|mongo|gdb|lldb|gjs|m4|qjs|d8|duktape|jjs|rhino)$/,
    { language: 'other', code: 'ec', longCode: ['eval', 'execute', 'ex', 'batch-eval', 'eval-command'] },
  ],
  [/^(?:pwsh|powershell)$/, { language: 'other', code: '', longCode: ['c', 'Command', 'command', 'EncodedCommand', 'enc', 'e'] }],
  [
    /^[gmno]?awk$|^busybox-awk$/,
    {
      language: 'awk',
      code: 'e',
      valued: 'FvfiE',
      longCode: ['source'],
      longValued: ['file', 'assign', 'field-separator', 'include', 'exec'],
      firstIsCode: true,
    },
  ],
];

/** A shell or another language: judges the code it gets, wherever that comes from. undefined when it is neither. */
export function runInterpreter(program: string, args: Texts, state: State, stdin: Texts): Texts | undefined {
  if (shells.test(program)) return runShell(program, args, state, stdin);
  if (program === 'deno' && args[0] === 'eval')
    return runLanguage('deno', { language: 'javascript', code: '', firstIsCode: true }, args.slice(1), state, stdin);
  const found = interpreters.find(([expression]) => expression.test(program));
  return found ? runLanguage(program, found[1], args, state, stdin) : undefined;
}

function runShell(program: string, args: Texts, state: State, stdin: Texts): Texts {
  let command = false;
  let input = false;
  let at = 0;
  for (; at < args.length; at++) {
    const arg = args[at] as string;
    if (arg === '--' || arg === '-') {
      at++;
      break;
    }
    if (!/^[-+]./.test(arg)) break;
    if (arg.startsWith('--')) {
      if (/^--(?:rcfile|init-file)$/.test(arg)) runFile(args[++at] ?? '', program, state, stdin);
      if (/^--(?:command|init-command)$/.test(arg)) command = true;
      const [, code] = /^--(?:init-)?command=(.*)$/s.exec(arg) ?? [];
      if (code !== undefined) runCode(code, program, [], state, stdin);
      continue;
    }
    if (isUnknown(arg)) reportUnseen(arg, program, state);
    if (arg.startsWith('-') && /c|C/.test(arg)) command ||= arg.includes('c') || program.startsWith('fish');
    if (arg.includes('s')) input = true;
    if (/[oO]$/.test(arg)) noteOptions([args[++at] ?? ''], program, state);
  }
  const operands = args.slice(at);
  const [first] = operands;
  if (command) return first === undefined ? [''] : runCode(first, program, operands.slice(2), state, stdin);
  if (first !== undefined && !input) return runFile(first, program, state, stdin, operands.slice(1));
  let output: Texts = [unknown];
  for (const text of stdin) if (text !== '') output = runCode(text, program, operands, state, ['']);
  return output;
}

function runCode(code: string, program: string, parameters: Texts, state: State, stdin: Texts): Texts {
  // What other shells can do with a variable, bash cannot read.
  if (/^(?:zsh|fish|t?csh|nu|elvish)/.test(program) && /\$\{\(|\(\s*e\s*\)/.test(code)) state.judgement.report('code/unseen', program);
  reportUnseen(code, program, state);
  const inner = state.fork();
  inner.parameters = parameters;
  return state.judgement.runSource(code, inner, stdin);
}

/** A shell starts a file. One that the script made itself is judged; any other is an ordinary file of the project. */
function runFile(file: string, program: string, state: State, stdin: Texts, parameters: Texts = []): Texts {
  if (file === '/dev/stdin' || file === '/proc/self/fd/0' || file === '/dev/fd/0') {
    for (const text of stdin) runCode(text, program, parameters, state, ['']);
  } else if (isUnknown(file.slice(file.lastIndexOf('/') + 1))) reportUnseen(file, program, state);
  else runDownloaded(file, parameters, state, stdin, program);
  return [unknown];
}

/** What an archive from the network was unpacked into may hold any file. */
function unpackedAround(path: string, state: State): readonly string[] {
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
    const mark = `${path.slice(0, end)}/*`;
    if (state.files.has(mark)) return [mark];
  }
  return [];
}

/** Judges a file that the script wrote before it starts it. false when it wrote no such file. */
export function runDownloaded(file: string, parameters: Texts, state: State, stdin: Texts, program?: string): boolean {
  const paths = resolvePaths(file, state).flatMap((path) => (path === undefined ? [] : [path]));
  const known = paths.flatMap((path) => (state.files.has(path) ? [path] : unpackedAround(path, state)));
  for (const text of known.flatMap((path) => state.files.get(path) ?? [])) {
    const [, named] = /^#!\s*(?:\/usr\/bin\/env\s+(?:-S\s+)?)?(?:\S*\/)?(\S+)/.exec(text) ?? [];
    const language = interpreters.find(([expression]) => expression.test(program ?? named ?? ''))?.[1].language;
    if (isFromNetwork(text))
      state.judgement.report(file.startsWith('/dev/fd/') ? 'network/pipe-to-interpreter' : 'network/download-then-run', program);
    else if (language) judgeCode(language, text, program ?? named ?? '', state);
    else runCode(text, program ?? named ?? 'sh', parameters, state, stdin);
  }
  return known.length > 0;
}

function runLanguage(program: string, { language, code, ...kind }: Interpreter, args: Texts, state: State, stdin: Texts): Texts {
  const codes: string[] = [];
  let at = 0;
  let seen = false;
  for (; at < args.length; at++) {
    const arg = args[at] as string;
    if (arg === '--') {
      at++;
      break;
    }
    if (!/^-./.test(arg)) break;
    const [name = '', ...value] = arg.replace(/^--?/, '').split('=');
    if (kind.longCode?.includes(name) && (arg.startsWith('--') || name.length > 1 || code === '')) {
      codes.push(value.length > 0 ? value.join('=') : (args[++at] ?? ''));
      continue;
    }
    if (arg.startsWith('--')) {
      if (value.length === 0 && kind.longValued?.includes(name)) at++;
      continue;
    }
    const letters = [...arg.slice(1)];
    const stop = letters.findIndex((letter) => `${code}${kind.valued ?? ''}${kind.module ?? ''}`.includes(letter));
    const letter = letters[stop];
    if (letter === undefined) continue;
    const attached = letters.slice(stop + 1).join('');
    if (letter === kind.module)
      return runModule(program, attached === '' ? args.slice(at + 1) : [attached, ...args.slice(at + 1)], state, stdin);
    if (language === 'javascript' && letter === 'p' && attached === 'e') codes.push(args[++at] ?? '');
    else if (code.includes(letter)) codes.push(attached || (args[++at] ?? ''));
    else {
      const file = attached || args[at + 1];
      if (language === 'awk' && letter === 'f') {
        seen = true;
        if (file === '-' || file === '/dev/stdin') codes.push(...stdin);
        else if (file !== undefined) runDownloaded(file, [], state, stdin, program);
      }
      if (attached === '') at++;
    }
  }
  const operands = args.slice(at);
  const [first] = operands;
  if (codes.length === 0 && !seen && kind.firstIsCode && first !== undefined) codes.push(first);
  for (const text of codes) judgeCode(language, text, program, state);
  if (codes.length > 0 || seen) return [stdin.some(isFromNetwork) ? fromNetwork : unknown];
  if (first !== undefined && first !== '-' && first !== '/dev/stdin') {
    if (isUnknown(first.slice(first.lastIndexOf('/') + 1))) reportUnseen(first, program, state);
    else runDownloaded(first, operands.slice(1), state, stdin, program);
    return [unknown];
  }
  if (args.some((arg) => /^-(?:-version|-help|[vVh])$/.test(arg))) return [unknown];
  for (const text of stdin) judgeCode(language, text, program, state);
  return [unknown];
}

/** `python -m pip` is pip. */
function runModule(program: string, args: Texts, state: State, stdin: Texts): Texts {
  const [module = '', ...rest] = args;
  if (module === 'pip' || module === 'ansible' || module === 'awscli') return state.judgement.runFields([module, ...rest], state, stdin);
  if (isUnknown(module)) reportUnseen(module, program, state);
  if (/^(?:http\.server|SimpleHTTPServer|pyftpdlib)$/.test(module)) {
    const [directory = '.'] = readOptions(rest, { short: 'bdpw', long: ['bind', 'directory', 'protocol'] }).valuesOf('d', 'directory');
    if (resolvePaths(directory, state).some((path) => path === undefined || isProtectedRoot(path, state)))
      state.judgement.report('network/expose', program);
  }
  return [stdin.some(isFromNetwork) ? fromNetwork : unknown];
}
