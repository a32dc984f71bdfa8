import { readOptions, type Valued } from '../shell/options.ts';

/** A program that starts the program its arguments name. */
interface Wrapper extends Valued {
  /** Words between the options and the program. */
  skip?: number;
  /** `NAME=value` words may come before the program. */
  assignments?: boolean;
}

/** What starts what its arguments say, and which of its options take a word. */
const wrappers: Readonly<Record<string, Wrapper>> = {
  sudo: {
    short: 'ughpCrtTUDRc',
    long: ['user', 'group', 'host', 'prompt', 'close-from', 'role', 'type', 'chdir', 'chroot', 'other-user'],
    assignments: true,
  },
  doas: { short: 'uC' },
  pkexec: { long: ['user'] },
  gosu: { skip: 1 },
  'su-exec': { skip: 1 },
  runuser: { short: 'ugGcs', long: ['user', 'group', 'command', 'shell'] },
  setpriv: { long: ['reuid', 'regid', 'groups', 'inh-caps', 'ambient-caps', 'bounding-set', 'securebits', 'selinux-label'] },
  env: { short: 'uCS', long: ['unset', 'chdir', 'split-string'], assignments: true },
  nohup: {},
  timeout: { short: 'ks', long: ['kill-after', 'signal'], skip: 1 },
  gtimeout: { short: 'ks', long: ['kill-after', 'signal'], skip: 1 },
  nice: { short: 'n', long: ['adjustment'] },
  ionice: { short: 'cnpPu', long: ['class', 'classdata', 'pid'] },
  chrt: { short: 'TPD', skip: 1 },
  taskset: { skip: 1 },
  numactl: { short: 'imNCpPlsH' },
  cpulimit: { short: 'lpe' },
  stdbuf: { short: 'ioe', long: ['input', 'output', 'error'] },
  unbuffer: {},
  setsid: {},
  setarch: { skip: 1 },
  linux32: {},
  linux64: {},
  time: { short: 'fo', long: ['format', 'output'] },
  command: {},
  builtin: {},
  exec: { short: 'a' },
  chroot: { long: ['userspec', 'groups'], skip: 1 },
  unshare: { short: 'SG', long: ['map-user', 'map-group', 'root', 'wd', 'setuid', 'setgid', 'propagation'] },
  nsenter: { short: 'tSGrw', long: ['target', 'setuid', 'setgid', 'root', 'wd'] },
  'systemd-run': {
    short: 'pudtEHM',
    long: [
      'unit',
      'property',
      'description',
      'slice',
      'uid',
      'gid',
      'nice',
      'working-directory',
      'setenv',
      'on-calendar',
      'on-active',
      'machine',
    ],
  },
  'systemd-inhibit': { long: ['what', 'who', 'why', 'mode'] },
  'dbus-run-session': {},
  'xvfb-run': { short: 'nsefpw', long: ['server-num', 'server-args', 'error-file', 'auth-file'] },
  fakeroot: { short: 'lsib' },
  faketime: { skip: 1 },
  firejail: {},
  strace: { short: 'eopsaEbISPuUX' },
  ltrace: { short: 'eopsanlxDFuA' },
  valgrind: {},
  catchsegv: {},
  proxychains: { short: 'f' },
  proxychains4: { short: 'f' },
  torsocks: {},
  torify: {},
  tsocks: {},
  caffeinate: { short: 'tw' },
  eatmydata: {},
  chronic: {},
  chpst: { short: 'ubUe/nlLmoptfrcd' },
  softlimit: { short: 'acdflmopst' },
  busybox: {},
  toybox: {},
  prlimit: { short: 'p' },
  'ld-linux-x86-64.so.2': { long: ['library-path', 'preload', 'audit'] },
  rlwrap: { short: 'abcCDefFgHilmoOPqrsStTwz' },
  entr: {},
  npx: { short: 'pc', long: ['package', 'call'] },
  bunx: {},
  pnpx: {},
  uvx: { long: ['from', 'with', 'python'] },
  dotenv: { short: 'ecvp' },
  watch: { short: 'nq', long: ['interval', 'equexit'] },
};

/** Runners whose own subcommand comes before the program. */
const runners: Readonly<Record<string, readonly (readonly string[])[]>> = {
  poetry: [['run']],
  pipenv: [['run']],
  uv: [['run'], ['tool', 'run']],
  rye: [['run']],
  hatch: [['run']],
  pdm: [['run']],
  conda: [['run']],
  mamba: [['run']],
  bundle: [['exec']],
  rbenv: [['exec']],
  pyenv: [['exec']],
  npm: [['exec'], ['x']],
  pnpm: [['exec'], ['dlx']],
  yarn: [['exec'], ['dlx']],
  bun: [['x']],
  direnv: [['exec']],
  asdf: [['exec']],
  mise: [['exec'], ['x']],
  op: [['run']],
  doppler: [['run']],
  'aws-vault': [['exec']],
  mix: [['cmd']],
  lerna: [['exec']],
  nvm: [['exec']],
  toolbox: [['run']],
  flatpak: [['run']],
  snap: [['run']],
  heroku: [['run']],
  perf: [['stat'], ['record']],
};

/** What is left of the words of a wrapper: the program it starts and its arguments. undefined when it is no wrapper. */
export function unwrap(program: string, args: readonly string[]): readonly string[] | undefined {
  const runner = runners[program]?.find((words) => words.every((word, index) => args[index] === word));
  if (runner) {
    const rest = readOptions(
      args.slice(runner.length),
      { short: 'npeC', long: ['name', 'prefix', 'env', 'with', 'python', 'profile', 'config', 'project', 'package'] },
      true,
    ).rest;
    return program === 'direnv' || program === 'aws-vault' || program === 'nvm'
      ? rest.slice(1).filter((word, index) => index > 0 || word !== '--')
      : rest;
  }
  const wrapper = wrappers[program];
  if (!wrapper) return undefined;
  let rest = readOptions(args, wrapper, true).rest;
  if (wrapper.assignments) rest = withoutAssignments(program === 'env' && rest[0] === '-' ? rest.slice(1) : rest);
  rest = rest.slice(wrapper.skip ?? 0);
  return rest[0] === '--' ? rest.slice(1) : rest;
}

function withoutAssignments(words: readonly string[]): readonly string[] {
  const start = words.findIndex((word) => !/^[A-Za-z_]\w*\+?=/.test(word));
  return start === -1 ? [] : words.slice(start);
}

/** The `NAME=value` words a wrapper sets for what it starts. */
export function assignedBy(program: string, args: readonly string[]): readonly (readonly [string, string])[] {
  const wrapper = wrappers[program];
  if (!wrapper?.assignments) return [];
  const assigned: (readonly [string, string])[] = [];
  const [directory] = readOptions(args, wrapper, true).valuesOf(...(program === 'env' ? ['C', 'chdir'] : ['D', 'chdir']));
  if (directory !== undefined) assigned.push(['PWD', directory]);
  for (const word of readOptions(args, wrapper, true).rest) {
    const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(word) ?? [];
    if (name === undefined || value === undefined) break;
    assigned.push([name, value]);
  }
  return assigned;
}
