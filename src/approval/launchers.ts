import { reportUnseen } from './builtins.ts';
import { readOptions } from './options.ts';
import type { State } from './state.ts';
import { fromNetwork, plainToken, unknown } from './values.ts';

type Texts = readonly string[];
type Launcher = (args: Texts, state: State, stdin: Texts, program: string) => Texts | undefined;

function runCode(code: string, program: string, state: State, stdin: Texts): Texts {
  reportUnseen(code, program, state);
  return state.judgement.runSource(code, state.fork(), stdin);
}

/** What standard input gives to a program that makes arguments of it. */
function wordsOf(stdin: Texts): Texts {
  const [only] = stdin;
  if (stdin.length !== 1 || only === undefined || only === '') return [unknown];
  const words = only.split(/\s+/).filter((word) => word !== '');
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
    for (const start of starts.length > 0 ? starts : ['.']) {
      state.judgement.runFields(
        command.map((part) => part.replaceAll('{}', `${start === '/' ? '' : start}/${plainToken}`)),
        state.fork(),
        [''],
      );
    }
  }
  return undefined;
};

function firstTest(args: Texts): number {
  const at = args.findIndex((arg) => /^-(?![HLPDO])|^[(!]$/.test(arg));
  return at === -1 ? args.length : at;
}

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
  const [, ...command] = options.rest;
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
  if (command.length === 0 && options.has('i', 's', 'login', 'shell')) state.judgement.report('accounts/root-shell', program);
  if (command.length === 1 && /^(?:.*\/)?(?:ba|z|da|k|fi)?sh$/.test(command[0] ?? '') && stdin.every((text) => text === ''))
    state.judgement.report('accounts/root-shell', program);
  return undefined;
};

const environment: Launcher = (args, state, stdin) => {
  const [, text] = args.join('\n').match(/(?:^|\n)(?:-[a-zA-Z]*S\n?|--split-string[=\n])([\s\S]*)$/) ?? [];
  return text === undefined ? undefined : runCode(text.replaceAll('\n', ' '), 'env', state, stdin);
};

/** Options with a word, of programs that start others in containers. */
const containerValued = {
  short: 'abcehlmpuvwfPn',
  long: [
    ...[
      'add-host',
      'cpus',
      'cpu-shares',
      'device',
      'dns',
      'entrypoint',
      'env',
      'env-file',
      'expose',
      'gpus',
      'hostname',
      'ip',
      'label',
      'link',
      'log-driver',
      'log-opt',
    ],
    ...[
      'mac-address',
      'memory',
      'mount',
      'name',
      'net',
      'network',
      'pid',
      'platform',
      'publish',
      'pull',
      'restart',
      'runtime',
      'security-opt',
      'shm-size',
      'stop-signal',
    ],
    ...[
      'tmpfs',
      'ulimit',
      'user',
      'userns',
      'volume',
      'volumes-from',
      'workdir',
      'cap-add',
      'cap-drop',
      'ipc',
      'uts',
      'file',
      'project-name',
      'profile',
      'context',
      'host',
    ],
    ...['namespace', 'container', 'index', 'detach-keys', 'cidfile', 'log-level', 'config', 'image', 'overrides', 'kubeconfig', 'cluster'],
  ],
};

const container: Launcher = (args, state, stdin, program) => {
  const outer = readOptions(args, { short: 'cHlfpn', long: containerValued.long }, true).rest;
  const words =
    outer[0] === 'compose' || outer[0] === 'container'
      ? readOptions(outer.slice(1), { short: 'fp', long: containerValued.long }, true).rest
      : outer;
  const [verb, ...rest] = words;
  if (verb !== 'exec' && verb !== 'run' && verb !== 'debug') return undefined;
  const options = readOptions(rest, containerValued, true);
  const inner = options.rest.slice(1).filter((word, index) => index > 0 || word !== '--');
  const [entry] = options.valuesOf('entrypoint');
  const command = entry ? [entry, ...inner] : inner;
  if (command.length > 0) state.judgement.runFields(command, state.fork(), stdin);
  return [program === 'kubectl' ? fromNetwork : unknown];
};

const terminal: Launcher = (args, state, stdin, program) => {
  for (const [index, arg] of args.entries()) {
    const after = args.slice(index + 1);
    if (/^(?:send-keys|send|stuff)$/.test(arg)) runCode(withoutKeys(after), program, state, ['']);
    else if (
      /^(?:new|new-session|neww|new-window|splitw|split-window|respawn-pane|respawn-window|run|run-shell|if-shell|pipe-pane|popup|display-popup)$/.test(
        arg,
      )
    ) {
      runCode(readOptions(after, { short: 'cdeFnstxy' }, true).rest.join(' '), program, state, stdin);
    }
  }
  if (program === 'screen') {
    const { rest } = readOptions(args, { short: 'cehpsStTX' }, true);
    if (rest.length > 0 && !args.includes('-X')) state.judgement.runFields(rest, state.fork(), stdin);
  }
  return [''];
};

function withoutKeys(args: Texts): string {
  const { rest } = readOptions(args, { short: 'tN' });
  return rest
    .filter((word) => !/^(?:Enter|C-[a-z]|Escape|Space|Tab|BSpace)$/.test(word))
    .join(' ')
    .replace(/(?:\\n|\\r|\^M)+$/, '');
}

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

const watch: Launcher = (args, state) =>
  runCode(readOptions(args, { short: 'nq', long: ['interval', 'equexit'] }, true).rest.join(' '), 'watch', state, ['']);

const later: Launcher = (_args, state, stdin, program) => {
  state.judgement.report('persistence/schedule', program);
  for (const text of stdin) if (text !== '') runCode(text, program, state, ['']);
  return [''];
};

/** Options of other programs whose word is a command. */
const commandOptions: Readonly<Record<string, { short?: string; long?: readonly string[]; valued?: string }>> = {
  'nix-shell': { long: ['run', 'command'] },
  nix: { short: 'c', long: ['command'] },
  runuser: { short: 'c', long: ['command'] },
  split: { long: ['filter'] },
  sort: { long: ['compress-program'] },
  rsync: { short: 'e', long: ['rsh', 'rsync-path'], valued: 'fBT' },
  tar: {
    short: 'I',
    long: ['to-command', 'use-compress-program', 'rsh-command', 'info-script', 'new-volume-script'],
    valued: 'fCTXbKNVgH',
  },
  npx: { short: 'c', long: ['call'] },
  npm: { short: 'c', long: ['call', 'script-shell'] },
  capsh: { short: 'c' },
  rg: { long: ['pre'] },
  man: { short: 'P', long: ['pager'] },
  zip: { short: 'T', long: ['unzip-command'] },
};

const byOption: Launcher = (args, state, stdin, program) => {
  const { short = '', long = [], valued = '' } = commandOptions[program] ?? {};
  const options = readOptions(args, { short: short + valued, long });
  for (const value of options.valuesOf(...short, ...long)) if (value !== '') runCode(value, program, state, stdin);
  for (const arg of args) {
    const [, code] = /^--checkpoint-action=exec=(.*)$/s.exec(arg) ?? [];
    if (code !== undefined) runCode(code, program, state, stdin);
  }
  return undefined;
};

/** Editors and pagers that run commands of their own. */
const editor: Launcher = (args, state, _stdin, program) => {
  for (const [index, arg] of args.entries()) {
    const text = arg.startsWith('+') ? arg.slice(1) : /^-(?:c|-cmd)$/.test(arg) ? (args[index + 1] ?? '') : '';
    const [, code] = /^:?(?:%|\d*,?\d*)?!\s*(.*)$/s.exec(text) ?? [];
    if (code !== undefined) runCode(code, program, state, ['']);
    else if (/\b(?:system|py3?|python3?|lua|ruby|perl|call)\b/.test(text)) state.judgement.report('code/inline', program);
  }
  return undefined;
};

const launchers: Readonly<Record<string, Launcher>> = {
  ...{
    xargs,
    gxargs: xargs,
    parallel,
    find,
    gfind: find,
    fd,
    fdfind: fd,
    ssh,
    autossh: ssh,
    mosh: ssh,
    sshpass: (args, state, stdin) => state.judgement.runFields(readOptions(args, { short: 'pfdP' }, true).rest, state, stdin),
  },
  ...{
    su: switchUser,
    sudo,
    doas: sudo,
    env: environment,
    docker: container,
    podman: container,
    nerdctl: container,
    'docker-compose': container,
    kubectl: container,
    oc: container,
    k3s: container,
  },
  ...{ tmux: terminal, screen: terminal, byobu: terminal, script: recorder, flock: lock, watch, at: later, batch: later },
  ...{ vim: editor, vi: editor, nvim: editor, view: editor, ex: editor },
  ...Object.fromEntries(Object.keys(commandOptions).map((name) => [name, byOption])),
};

/** A program that starts others in its own way. undefined when it is none, or when its other arguments still are to be looked at. */
export function runLauncher(program: string, args: Texts, state: State, stdin: Texts): Texts | undefined {
  return Object.hasOwn(launchers, program) ? launchers[program]?.(args, state, stdin, program) : undefined;
}
