import { readOptions } from '../shell/options.ts';
import { isUnknown } from '../shell/values.ts';
import type { Invocation } from './invocation.ts';

/** Programs that name processes without ending them. */
const naming = /^(?:pgrep|pidof|ps|grep|egrep|awk|lsof|cat|fuser|ss|netstat|pstree)$/;

/** What ends processes. */
export function processRules(invocation: Invocation): void {
  const { program, args, state } = invocation;
  const { judgement } = state;
  if (naming.test(program) && args.some((arg) => /hermetic/i.test(arg.replace(/[[\]]/g, '')))) judgement.namesHermetic = true;
  if (program === 'kill') kill(invocation);
  if (/^(?:pkill|killall|killall5|skill|slay|xkill|fuser)$/.test(program)) killByName(invocation);
}

function kill({ program, args, state }: Invocation): void {
  const { judgement } = state;
  const targets: string[] = [];
  let signal = false;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] as string;
    if (arg === '-l' || arg === '-L' || arg === '--list') return;
    if (arg === '--') {
      targets.push(...args.slice(at + 1));
      break;
    }
    if (/^(?:-s|-n|--signal|-q)$/.test(arg)) {
      signal = true;
      at++;
    } else if (!signal && targets.length === 0 && /^-(?:\w+)$/.test(arg) && (at === 0 || !/^-1$/.test(arg)) && at === firstOption(args))
      signal = true;
    else if (/^--signal=/.test(arg)) signal = true;
    else targets.push(arg);
  }
  judgement.endsProcesses = true;
  if (targets.some((target) => /^-0*1$/.test(target))) judgement.report('system/kill-all', program);
  if (targets.some((target) => /^\+?0*1$/.test(target) || /^-?0+$/.test(target))) judgement.report('process/kill-by-name', program);
  if (targets.some((target) => isUnknown(target)) || args.some((arg) => /^-[\uE000-\uE002]/.test(arg)))
    judgement.report('shell/unresolved-argument', program);
}

function firstOption(args: readonly string[]): number {
  return args.findIndex((arg) => arg.startsWith('-') && arg !== '--');
}

function killByName({ program, args, state }: Invocation): void {
  const { judgement } = state;
  if (program === 'killall5') judgement.report('system/kill-all', program);
  const options = readOptions(
    args.filter((arg) => !/^-(?:SIG)?[A-Z][A-Z0-9]+$|^-\d+$/.test(arg)),
    {
      short: 'uUGgPstF',
      long: ['user', 'euid', 'uid', 'group', 'parent', 'session', 'terminal', 'signal', 'pidfile', 'ns'],
    },
  );
  if (program === 'fuser' && !options.has('k', 'kill')) return;
  judgement.endsProcesses = true;
  const names = options.rest;
  if (args.some((arg) => /hermetic/i.test(arg))) judgement.report('hermetic/process', program);
  if (names.some((name) => /^(?:\.\*?|\^?\.?\*?\$?|\.\+|\[a-z\].*)$/.test(name)) && program !== 'fuser')
    judgement.report('system/kill-all', program);
  const forced =
    args.some((arg) => /^-(?:9|KILL|SIGKILL)$|^-s(?:9|KILL|SIGKILL)?$|^--signal/.test(arg)) &&
    /^(?:-9|-KILL|-SIGKILL)$|9|KILL/.test(args.join(' '));
  const broad = names.some((name) =>
    /^(?:node|nodejs|npm|python[\d.]*|bash|sh|java|ruby|sshd|ssh|systemd|init|docker\w*|containerd|Xorg|gnome-.*|kde.*|Finder|loginwindow|launchd|dbus.*|login|tmux.*|screen)$/.test(
      name,
    ),
  );
  const byUser = options.has('u', 'U', 'user', 'euid', 'uid') || args.includes('-v') || options.has('inverse');
  if (
    forced ||
    broad ||
    byUser ||
    options.has('r', 'regexp') ||
    names.some((name) => isUnknown(name)) ||
    program === 'slay' ||
    program === 'xkill'
  )
    judgement.report('process/kill-by-name', program);
}
