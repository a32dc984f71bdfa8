import { readOptions } from '../shell/options.ts';
import { candidates, patternOf } from './candidates.ts';
import type { Invocation } from './invocation.ts';
import { isOwn } from './paths.ts';
import { resolvePaths } from './resolve.ts';

/** What only prints and reveals little. */
const harmless = /^(?:--version|-V|--help|-h|help|version|status|doctor)$/;
const reading =
  /^(?:config (?:get|list|check|path)|approvals (?:list|show|judge)|sandbox (?:list|show)|audit (?:list|show|verify|export)|pairing list|sessions? (?:list|show)|logs?)\b/;

const serviceProgram =
  /^(?:systemctl|service|rc-service|sv|supervisorctl|pm2|launchctl|docker|podman|nerdctl|docker-compose|kubectl|helm|snap|apt|apt-get|dpkg|npm|brew|initctl|monit|s6-svc|crontab|tmux|screen|kill|pkill|killall|update-rc\.d|chkconfig|loginctl|machinectl)$/;
const looking =
  /^(?:status|show|cat|is-active|is-enabled|logs?|list\S*|ps|inspect|get|describe|images|info|ls|view|search|-l|--version|list-units|help|build|pull|run|test|install|ci|start|top|stats|exec)$/;

/** Whatever is about Hermetic itself: its command, its service, its files. */
export function hermeticRules(invocation: Invocation): void {
  const { program, args, state } = invocation;
  const own = ownArguments(invocation);
  if (own) judgeOwnCommand(own, invocation);
  const words = readOptions(args).rest;
  if (
    serviceProgram.test(program) &&
    args.some((arg) => /(?:^|[^\w])hermetic(?:$|[^\w/])|^hermetic/i.test(arg)) &&
    !words.slice(0, 2).some((word) => looking.test(word))
  ) {
    state.judgement.report('hermetic/process', program);
  }
}

/** The arguments of the `hermetic` command, however it is started. */
function ownArguments({ program, args }: Invocation): readonly string[] | undefined {
  if (/^hermetic(?:\.mjs|\.js)?$/.test(program)) return args;
  if (!/^(?:node|nodejs|tsx|bun|deno)$/.test(program)) return undefined;
  const at = args.findIndex((arg) => /(?:^|\/)hermetic\.m?js$|(?:^|\/)hermetic\/(?:dist|src)\/cli\/main\.[jt]s$/.test(arg));
  return at === -1 ? undefined : args.slice(at + 1);
}

function judgeOwnCommand(args: readonly string[], { state }: Invocation): void {
  const { judgement } = state;
  const [first = ''] = args;
  const text = readOptions(args, { long: ['backend', 'session', 'image', 'home'] }).rest.join(' ');
  if (args.length === 0 || (harmless.test(first) && args.length <= 2) || /^approvals judge\b/.test(text)) return;
  if (reading.test(text)) judgement.report('hermetic/read', 'hermetic');
  else if (!/^(?:run|shell|code|chat)$/.test(first)) judgement.report('hermetic/control', 'hermetic');
  else {
    judgement.report('hermetic/start', 'hermetic');
    const valued = { short: 'bs', long: ['backend', 'session', 'image', 'timeout', 'home', 'env', 'cwd'] };
    judgement.runSource(readOptions(args.slice(1), valued, true).rest.join(' '), state.fork(), ['']);
  }
}

/** They look at files and change none. */
const readers =
  /^(?:cat|tac|head|tail|less|more|bat|ls|ll|dir|tree|stat|file|du|df|wc|grep|egrep|fgrep|rg|ag|ack|diff|cmp|md5sum|sha\d*sum|sum|cksum|strings|xxd|od|hexdump|base64|jq|yq|sort|uniq|cut|find|locate|realpath|readlink|basename|dirname|test|\[|\[\[|cd|pushd|echo|printf|awk|nl|column|fd|view|tar|zip|cp|rsync|scp|curl|wget|source|\.|git|export|declare|open|xdg-open|lsof|fuser|getfacl|namei|sh|bash|which|type|command|sudo|env|hermetic|sed|sqlite3?|cmake)$/;

/** They only pass on their arguments, to whatever is looked at next, or mean something else by them than a path from here. */
const passing = /^(?:ln|echo|printf|cd|pushd|sudo|env|test|\[|\[\[|export|declare|local|readonly|typeset|sh|bash)$/;
/** Without a word about it they write where they are started. */
const writersHere = /^(?:unzip|bsdtar|7z|unar|unrar|cpio|patch)$/;
/** It does not matter to them where they are started. */
const anywhere =
  /^(?:popd|dirs|pwd|true|false|:|exit|return|break|continue|unset|set|shopt|shift|read|let|eval|source|\.|trap|wait|sleep|date|whoami|id|uname|hostname|which|type|command|builtin|exec|time|timeout|nohup|nice|xargs|basename|dirname|seq|kill|jobs|alias|hermetic)$/;
/** Only names a place to look in, whatever the program does. */
const lookingIn = /^-[IL]/;

/** Reports arguments that are Hermetic's own files. */
export function ownFileRules({ program, args, state }: Invocation): void {
  if (state.circumstances.ownPaths.length === 0 || passing.test(program)) return;
  if (!anywhere.test(program) && state.workingDirectories.some((directory) => isOwn(directory, state)))
    state.judgement.report('hermetic/read', program, state.workingDirectories);
  const reading = readers.test(program) && !changes(program, args);
  const pattern = reading ? patternOf(program, args, readOptions(args).rest) : undefined;
  for (const arg of writersHere.test(program) ? [...args, '.'] : args) {
    for (const text of arg === pattern ? [] : candidates(arg)) {
      for (const path of resolvePaths(text, state)) {
        if (path === undefined || !isOwn(path, state)) continue;
        state.judgement.report(reading || lookingIn.test(arg) ? 'hermetic/read' : 'hermetic/files', program, [path]);
      }
    }
  }
}

/** A reader that is told to write. */
function changes(program: string, args: readonly string[]): boolean {
  if (program === 'sed') return args.some((arg) => /^-[a-zA-Z]*i|^--in-place/.test(arg));
  if (program === 'tar') return args.some((arg) => /^-?-?\w*x|^--(?:extract|remove-files|delete)/.test(arg));
  if (program.startsWith('sqlite'))
    return (
      !args.some((arg) => /^-readonly$/.test(arg)) ||
      args.some((arg) => /\b(?:insert|update|delete|drop|alter|replace|create|attach|vacuum|pragma)\b/i.test(arg))
    );
  if (program === 'find') return args.some((arg) => /^-(?:delete|exec|execdir|ok|okdir)$/.test(arg));
  if (program === 'cmake') return args.some((arg) => /^-[BEP]|^-D.*(?:\/|\.\.)|^--(?:build|install)/.test(arg));
  if (program === 'git') return !args.some((arg) => /^(?:status|log|diff|show|blame|ls-files)$/.test(arg));
  return false;
}
