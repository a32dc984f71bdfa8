import { touchRead, touchWrite } from '../checks/touch.ts';
import { readOptions } from '../shell/options.ts';
import { contentsOf } from '../shell/redirections.ts';
import type { State } from '../shell/state.ts';
import { fromNetwork, isUnknown, unknown } from '../shell/values.ts';
import { reportUnseen } from './builtins.ts';
import { type Launcher, runCode } from './launcher.ts';

type Texts = readonly string[];

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
      runCode(readOptions(after, { short: 'ceFnstxy' }, true).rest.join(' '), program, state, stdin);
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
  vagrant: { short: 'c', long: ['command'] },
  gcloud: { long: ['command'] },
  fly: { short: 'C', long: ['command'] },
  flyctl: { short: 'C', long: ['command'] },
  zip: { long: ['TT', 'unzip-command'] },
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

/** Recipes from elsewhere than a file of the project. */
const make: Launcher = (args, state, stdin, program) => {
  const options = readOptions(args, { short: 'fCIjloW', long: ['file', 'makefile', 'eval', 'directory'] });
  const recipes = [
    ...options.valuesOf('eval'),
    ...options
      .valuesOf('f', 'file', 'makefile')
      .flatMap((file) => (file === '-' ? stdin : contentsOf(file, state).filter((text) => text !== unknown || file.startsWith('/dev/')))),
  ];
  for (const text of recipes) {
    if (isUnknown(text)) reportUnseen(text, program, state);
    else
      for (const line of text.split(/\n\t?|:\s*;|;/))
        if (/\s/.test(line.trim()))
          state.judgement.runFields(
            line
              .trim()
              .replace(/^[@+-]+/, '')
              .split(/\s+/),
            state.fork(),
            [''],
          );
  }
  return undefined;
};

const lineEditor: Launcher = (_args, state, stdin, program) => {
  for (const line of stdin.flatMap((text) => text.split('\n'))) {
    if (line.startsWith('!')) runCode(line.slice(1), program, state, ['']);
    editsOther(line, program, state);
  }
  return undefined;
};

/** A command of an editor about another file than the one that is open. */
function editsOther(command: string, program: string, state: State): void {
  for (const part of command.split('|')) {
    const [, verb, path = ''] = /^[\s:%\d,.$]*(w|W|wq|write|sav\w*|up\w*|r|read|e|edit)(?:\s+|!\s*)([^\s!].*)$/s.exec(part) ?? [];
    if (verb === undefined) continue;
    if (/^[re]/.test(verb)) touchRead(path, program, state, true);
    else touchWrite(path, program, state);
  }
}

/** Editors and pagers that run commands of their own. */
const editor: Launcher = (args, state, _stdin, program) => {
  for (const [index, arg] of args.entries()) {
    const text = arg.startsWith('+') ? arg.slice(1) : /^-(?:[a-zA-Z]*c|-cmd)$/.test(arg) ? (args[index + 1] ?? '') : '';
    const [, code] = /^:?(?:%|\d*,?\d*)?!\s*(.*)$/s.exec(text) ?? [];
    if (code !== undefined) runCode(code, program, state, ['']);
    else if (/\b(?:system|py3?|python3?|lua|ruby|perl|call|exe\w*|norm\w*)\b/.test(text)) state.judgement.report('code/inline', program);
    else editsOther(text, program, state);
  }
  return undefined;
};

/** Containers, terminals, builds and editors. */
export const toolLaunchers: Readonly<Record<string, Launcher>> = {
  ...Object.fromEntries(Object.keys(commandOptions).map((name) => [name, byOption])),
  ...{
    docker: container,
    podman: container,
    nerdctl: container,
    'docker-compose': container,
    kubectl: container,
    oc: container,
    k3s: container,
  },
  ...{ lxc: container, incus: container, multipass: container, tmux: terminal, screen: terminal, byobu: terminal },
  ...{ make, gmake: make, ed: lineEditor, red: lineEditor, vim: editor, vi: editor, nvim: editor, view: editor, ex: editor },
};
