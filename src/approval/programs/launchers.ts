import { shellQuote } from '../../lib/shell-quote.ts';
import { holdsOwn } from '../checks/paths.ts';
import { resolvePaths } from '../checks/resolve.ts';
import { readOptions } from '../shell/options.ts';
import type { State } from '../shell/state.ts';
import { fromNetwork, plainToken, unknown } from '../shell/values.ts';
import { foundApart } from './apart.ts';
import { firstTest, foundBy } from './found-by.ts';
import { type Launcher, runCode } from './launcher.ts';
import { toolLaunchers } from './tool-launchers.ts';

type Texts = readonly string[];

/** What standard input gives to a program that makes arguments of it. */
function wordsOf(stdin: Texts): Texts {
  const [only] = stdin;
  if (stdin.length !== 1 || only === undefined || only === '') return [unknown];
  const words = only.split(/\s|\0/).filter((word) => word !== '');
  return words.length > 60 ? [unknown] : words;
}

const xargs: Launcher = (args, state, stdin) => {
  const options = readOptions(
    args,
    {
      short: 'IiLnPsadEe',
      long: ['replace', 'max-lines', 'max-args', 'max-procs', 'max-chars', 'arg-file', 'delimiter', 'eof', 'process-slot-var'],
    },
    true,
  );
  const [mark] = options.valuesOf('I', 'replace', 'i');
  const words = options.has('a', 'arg-file') ? [unknown] : wordsOf(stdin);
  if (options.rest.length === 0) return words;
  if (mark === undefined) return state.judgement.runFields([...options.rest, ...words], state, ['']);
  for (const word of words)
    state.judgement.runFields(
      options.rest.map((part) => part.replaceAll(mark || '{}', word)),
      state.fork(),
      [''],
    );
  return [unknown];
};

const parallel: Launcher = (args, state, stdin) => {
  const { rest } = readOptions(
    args,
    { short: 'jSNnLPIaC', long: ['jobs', 'sshlogin', 'delay', 'timeout', 'joblog', 'results', 'colsep', 'arg-file'] },
    true,
  );
  const at = rest.findIndex((word) => /^::::?\+?$/.test(word));
  const command = at === -1 ? rest : rest.slice(0, at);
  const words = at === -1 ? wordsOf(stdin) : rest.slice(at + 1).filter((word) => !/^::::?\+?$/.test(word));
  for (const word of words.slice(0, 60)) {
    const text = command.length === 0 ? word : command.map((part) => part.replaceAll(/\{[.\d/]*\}/g, word)).join(' ');
    runCode(command.length === 0 || command.some((part) => /\{[.\d/]*\}/.test(part)) ? text : `${text} ${word}`, 'parallel', state, ['']);
  }
  return [unknown];
};

const find: Launcher = (args, state) => {
  const starts = args.slice(0, firstTest(args)).filter((arg) => !/^-[HLPDO]/.test(arg));
  for (const [index, arg] of args.entries()) {
    if (!/^-(?:exec|execdir|ok|okdir)$/.test(arg)) continue;
    const end = args.findIndex((word, at) => at > index && (word === ';' || word === '+'));
    const command = args.slice(index + 1, end === -1 ? undefined : end);
    const places = foundBy(args);
    // Security: a search for Hermetic's files finds them.
    const own = starts.some((start) => resolvePaths(start, state).some((path) => path !== undefined && holdsOwn(path, state)))
      ? state.circumstances.ownPaths
      : [];
    const names = args.some((word) => /hermetic/i.test(word));
    const runOn = (place: string, way: State): void =>
      void way.judgement.runFields(
        command.map((part) => part.replaceAll('{}', place)),
        way,
        [''],
      );
    for (const place of names ? [...places, ...own] : places) runOn(place, state.fork());
    // And one for something else may.
    const files = own.flatMap((path) => places.map((place) => `${path}${place.slice(place.lastIndexOf('/'))}`));
    if (files.some((file) => foundApart(state, (way) => runOn(file, way)).some(({ rule }) => rule === 'hermetic/files')))
      state.judgement.report('shell/unresolved-argument', 'find');
  }
  return undefined;
};

const fd: Launcher = (args, state) => {
  const at = args.findIndex((arg) => /^(?:-[a-zA-Z]*[xX]|--exec|--exec-batch)$/.test(arg));
  if (at !== -1)
    state.judgement.runFields(
      [
        ...args
          .slice(at + 1)
          .filter((arg) => arg !== ';')
          .map((arg) => arg.replaceAll(/\{[./]*\}/g, `./${plainToken}`)),
        `./${plainToken}`,
      ],
      state.fork(),
      [''],
    );
  return undefined;
};

const ssh: Launcher = (args, state, stdin, program) => {
  const options = readOptions(args, { short: 'bcDEeFIiJLlmOopQRSWwB' }, true);
  for (const value of options.valuesOf('o')) {
    const [, code] = /^(?:ProxyCommand|LocalCommand|KnownHostsCommand|PermitLocalCommand)[= ]\s*(.*)$/is.exec(value) ?? [];
    if (code !== undefined) runCode(code, program, state, ['']);
  }
  const [, ...words] = options.rest;
  const command = words[0] === '--' ? words.slice(1) : words;
  if (command.length > 0) runCode(command.join(' '), program, state, stdin);
  // Without a command the remote shell reads what comes in.
  else for (const text of stdin) if (text !== '' && text !== unknown) runCode(text, program, state, ['']);
  return [fromNetwork];
};

const switchUser: Launcher = (args, state, stdin, program) => {
  const options = readOptions(args, { short: 'csgGwT', long: ['command', 'shell', 'group', 'whitelist-environment', 'session-command'] });
  const codes = options.valuesOf('c', 'command', 'session-command');
  if (codes.length === 0) {
    state.judgement.report('accounts/root-shell', program);
    for (const text of stdin) if (text !== '') runCode(text, program, state, ['']);
  }
  for (const code of codes) runCode(code, program, state, stdin);
  return [unknown];
};

const sudo: Launcher = (args, state, stdin, program) => {
  const options = readOptions(
    args,
    { short: 'ughpCrtTUDR', long: ['user', 'group', 'host', 'prompt', 'close-from', 'role', 'type', 'chdir', 'chroot', 'other-user'] },
    true,
  );
  if (options.has('S', 'A', 'stdin', 'askpass')) state.judgement.report('accounts/password-input', program);
  const command = options.rest.filter((word, index) => index > 0 || !/^\w+=/.test(word));
  if (options.has('e', 'edit')) return undefined;
  if (command.length === 0 && options.has('i', 's', 'login', 'shell')) {
    state.judgement.report('accounts/root-shell', program);
    for (const text of stdin) if (text !== '') runCode(text, program, state, ['']);
  }
  if (command.length === 1 && /^(?:.*\/)?(?:ba|z|da|k|fi)?sh$/.test(command[0] ?? '') && stdin.every((text) => text === ''))
    state.judgement.report('accounts/root-shell', program);
  return undefined;
};

const environment: Launcher = (args, state, stdin) => {
  const at = args.findIndex((arg) => /^-[a-zA-Z0]*S|^--split-string/.test(arg));
  const option = args[at];
  if (option === undefined) return undefined;
  const attached = option.replace(/^-[a-zA-Z0]*S|^--split-string=?/, '');
  const rest = args.slice(at + (attached === '' ? 2 : 1)).map(shellQuote);
  return runCode([attached || (args[at + 1] ?? ''), ...rest].join(' '), 'env', state, stdin);
};

const recorder: Launcher = (args, state, stdin) => {
  const codes = readOptions(args, { short: 'cEIOBoTmt', long: ['command'] }).valuesOf('c', 'command');
  for (const code of codes) runCode(code, 'script', state, stdin);
  if (codes.length === 0) for (const text of stdin) if (text !== '') runCode(text, 'script', state, ['']);
  return [unknown];
};

const lock: Launcher = (args, state, stdin) => {
  const options = readOptions(args, { short: 'cwE', long: ['command', 'timeout', 'wait', 'conflict-exit-code'] }, true);
  const [, ...command] = options.rest;
  const code = command[0] === '-c' || command[0] === '--command' ? command[1] : undefined;
  if (code !== undefined) return runCode(code, 'flock', state, stdin);
  if (command.length > 0) return state.judgement.runFields(command, state, stdin);
  return [''];
};

/** `command -v` only says where a program is. */
const lookUp: Launcher = (args) => {
  if (!args.some((arg) => /^-[pvV]*[vV]/.test(arg))) return undefined;
  return args.filter((arg) => !arg.startsWith('-')).map((name) => (name.includes('/') ? name : `/usr/bin/${name}`));
};

const watch: Launcher = (args, state) =>
  runCode(readOptions(args, { short: 'nq', long: ['interval', 'equexit'] }, true).rest.join(' '), 'watch', state, ['']);

const later: Launcher = (_args, state, stdin, program) => {
  state.judgement.report('persistence/schedule', program);
  for (const text of stdin) if (text !== '') runCode(text, program, state, ['']);
  return [''];
};

const launchers: Readonly<Record<string, Launcher>> = {
  ...toolLaunchers,
  ...{ xargs, gxargs: xargs, parallel, find, gfind: find, fd, fdfind: fd },
  ...{ ssh, autossh: ssh, mosh: ssh, su: switchUser, sudo, doas: sudo, pkexec: sudo, env: environment, command: lookUp },
  ...{ script: recorder, flock: lock, watch, at: later, batch: later },
  sshpass: (args, state, stdin) => state.judgement.runFields(readOptions(args, { short: 'pfdP' }, true).rest, state, stdin),
};

/** A program that starts others in its own way. undefined when it is none, or when its other arguments still are to be looked at. */
export function runLauncher(program: string, args: Texts, state: State, stdin: Texts): Texts | undefined {
  return Object.hasOwn(launchers, program) ? launchers[program]?.(args, state, stdin, program) : undefined;
}
