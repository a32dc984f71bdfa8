import { isHarmlessAwk, isHarmlessJq, isReadingSql, sedEffects } from './languages.ts';
import { noteFiles } from './made-files.ts';
import { isBesideSession, isOfSession, isOwn } from './paths.ts';
import { runProgram } from './run.ts';
import type { Shell } from './shell.ts';
import { isRunner } from './tables/index.ts';
import type { Kind } from './tables/program.ts';
import type { RuleId } from './tables/rules.ts';
import { harmlessSettings } from './tables/settings.ts';
import { resolvePaths, touchDelete, touchDirectory, touchList, touchMention, touchRead, touchWrite } from './touch.ts';
import { below, hasPlaceholder, isUnknown, unknown, unseenRule } from './values.ts';
import { judgeVariable } from './variables.ts';
import { runSource } from './walk.ts';

type Texts = readonly string[];

/** Where a value or operand stands. */
export interface Place {
  /** Program and subcommand. */
  program: string;
  shell: Shell;
  stdin: Texts;
  /** The words after it, for a kind that begins a command. */
  rest: Texts;
  downloads: boolean;
  /** The placeholder that xargs replaces with its input. */
  replaced?: string | undefined;
  /** xargs splits it at another sign. */
  splits?: boolean | undefined;
}

/** Looks at a value or an operand, and at what it makes the program do. */
export function judgeValue(kind: Kind, text: string, place: Place): Texts {
  return looks[kind](text, place) ?? [unknown];
}

type LookAt = (text: string, place: Place) => Texts | undefined;

const looks: Readonly<Record<Kind, LookAt>> = {
  text: () => undefined,
  read: (text, { program, shell }) => void (text === '-' || touchRead(text, program, shell)),
  list: (text, { program, shell }) => void touchList(text, program, shell),
  write: (text, { program, shell }) => void (text === '-' || touchWrite(text, program, shell)),
  into: (text, { program, shell }) => void touchWrite(text, program, shell),
  attributes: (text, { program, shell }) => void touchWrite(text, program, shell),
  delete: (text, { program, shell }) => void touchDelete(text, program, shell),
  move: (text, { program, shell }) => {
    touchRead(text, program, shell);
    touchDelete(text, program, shell);
  },
  target: (text, { program, shell }) => {
    for (const path of resolvePaths(text, shell)) {
      if (path === undefined) shell.judgement.report('shell/unresolved-argument', program);
      else if (isOwn(path, shell) && !isBesideSession(path, shell)) shell.judgement.report('hermetic/files', program, path, path);
      else if (!isOfSession(path, shell)) shell.judgement.report('files/outside', program, path, path);
    }
    shell.judgement.makesLink = true;
    return undefined;
  },
  directory: (text, { program, shell }) => {
    touchDirectory(text, program, shell);
    runFound(text, program, shell);
  },
  project: (text, place) => looks[/:/.test(text) ? 'package' : 'directory'](text.replace(/\[.*$/, ''), place),
  script: runFile,
  command: (text, { shell, stdin, rest }) => runProgram([text, ...rest], shell.fork(), stdin),
  exec: (text, { shell, stdin, rest }) => runProgram([text, ...rest], shell.fork(), stdin),
  shell: (text, { shell, stdin }) => runSource(text, shell.child(), stdin),
  module: (text, { shell, stdin, rest }) => runProgram([`python -m ${text}`, ...rest], shell, stdin),
  code: (text, place) => report('code/inline', place, text),
  url: fetchFrom,
  package: (text, place) => {
    if (/^\.{1,2}(?:\/|$|\[)/.test(text)) looks.directory(text.replace(/\[.*$/, ''), place);
    else if (!packageName.test(text) && !(place.program.startsWith('composer') && /^[\w.-]+\/[\w.-]+(?::[\w.^~*|-]+)?$/.test(text)))
      report('packages/install', place, text);
    return undefined;
  },
  variable: (text, { shell }) => {
    const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
    judgeVariable(name, [value], shell, true);
    shell.variables.set(name, [value]);
    shell.exported.add(name);
    return undefined;
  },
  setting: (text, place) => {
    const [key = ''] = text.split('=');
    return harmlessSettings.test(key) && !isUnknown(text) ? undefined : report('persistence/git', place, text);
  },
  remote: (text, place) => {
    // Security: what is pushed goes where the repository says, not to an address of the command.
    if (place.program === 'git push' && /[:/]/.test(text)) return report('network/send-file', place, text);
    if (remoteName.test(text)) return undefined;
    if (/^\.{0,2}\//.test(text) || text === '.') touchDirectory(text, place.program, place.shell);
    else report('network/remote', place, text);
    return undefined;
  },
  refspec: (text, place) => {
    if (/^\+|^:./.test(text)) report('git/rewrite-history', place, text);
    return unsure(text, place);
  },
  branch: (text, place) =>
    /^[.:]|[*?]|\/$/.test(text) && !/^\.\/.*\.\w+$/.test(text) ? report('git/discard', place, text) : unsure(text, place),
  restored: (text, place) => (/[*?]|^:/.test(text) || !/[^./]\.\w+$/.test(text) ? report('git/discard', place, text) : unsure(text, place)),
  sed: (text, place) => {
    const effects = isUnknown(text) ? 'run' : sedEffects(text);
    if (effects === 'run') return report('code/inline', place, text);
    for (const file of effects) writeTo(file, place);
    return undefined;
  },
  awk: (text, place) => (isUnknown(text) || !isHarmlessAwk(text) ? report('code/inline', place, text) : undefined),
  jq: (text, place) => (isUnknown(text) || !isHarmlessJq(text) ? report('code/inline', place, text) : undefined),
  sql: (text, place) => (isUnknown(text) || !isReadingSql(text) ? report('database/destroy', place, text) : undefined),
  dd: (text, place) => {
    const [, key, value = ''] = /^(\w+)=(.*)$/s.exec(text) ?? [];
    if (value.startsWith('~')) return report('files/outside', place, text);
    if (key === 'if') touchRead(value, place.program, place.shell);
    else if (key === 'of') touchWrite(value, place.program, place.shell);
    return unsure(text, place);
  },
  prunes: (text, { program, shell }) => void touchDelete(`${text}/${below}`, program, shell),
  sends: (text, place) => {
    if (isUnknown(text)) report('network/upload', place, text);
    if (/%output/.test(text)) report('program/option', place, text);
    if (text.startsWith('@') && text !== '@-') report('network/send-file', place, text);
    return undefined;
  },
  format: (text, place) => (text.startsWith('+') ? undefined : report('system/settings', place, text)),
  mode: (text, place) => {
    if (/^0*[2-7]\d{3}$|s/.test(text) || hasPlaceholder(text)) report('permissions/privileged-file', place, text);
    if (/[2367]$/.test(text) || /(?:^|,)[ugoa]*[oa][ugoa]*[+=][rxX]*w|^[+=][rxX]*w|[oa]+[+=][ugo]/.test(text))
      report('permissions/world-writable', place, text);
    return undefined;
  },
  pid: (text, place) => {
    const { hermetic = [], session = [] } = place.shell.context.processes ?? {};
    // A group has the number of the process that began it.
    const number = /^-?\d+$/.test(text) ? Math.abs(Number(text)) : undefined;
    if (number !== undefined && hermetic.includes(number)) return report('hermetic/process', place, text);
    if (/^-(?:1|\uE002)$/.test(text)) return report('system/kill-all', place, text);
    if (number !== undefined && number > 1) return session.includes(number) ? undefined : report('process/foreign', place, text);
    return /^(?:%[\w?%+-]+|\uE006)$/.test(text) ? undefined : report('process/kill-by-name', place, text);
  },
  flags: (text, place) =>
    /-f?plugin|-wrapper|-specs|-B|@|-load|-extld|-linkmode|-toolexec|profile|\/|-Xclang|-fuse-ld|-dynamic-linker|[`$]/.test(text)
      ? report('code/injected', place, text)
      : unsure(text, place),
};

const packageName = /^(?:@[A-Za-z\d][\w.-]*\/)?[A-Za-z\d][\w.-]*(?:\[[\w,.-]+\])?(?:(?:@|[=<>~!^]{1,3})[\w.*^~<>=,! |+-]+)?$/;
const remoteName = /^[A-Za-z][\w.-]*(?:\/[\w.-]+)?$|^https?:\/\/[\w.-]+(?::\d+)?\/[\w./~+-]+$|^(?:ssh:\/\/)?git@[\w.-]+[:/][\w./~-]+$/;

function report(rule: RuleId, { program, shell }: Place, target?: string): undefined {
  shell.judgement.report(rule, program, target);
}

/** A part that is not known makes a name no option and no other kind of name, unless it begins it. */
function unsure(text: string, place: Place): undefined {
  if (isUnknown(text.slice(0, 1))) report('shell/unresolved-argument', place);
}

/** A file that the code of a small language writes. */
function writeTo(text: string, { program, shell }: Place): undefined {
  touchWrite(text, program, shell);
  noteFiles(text, 'written', shell);
}

/** Security: what a file of the workspace does is not looked at, so a file that the same command makes is asked about. */
export function runFile(text: string, place: Place): undefined {
  const { shell, program, rest } = place;
  if (/^\w+:\/\/|[^/]@|^[\w-]+\.[\w.-]+\/.*@/.test(text)) return report('network/download-then-run', place, text);
  const printed = shell.judgement.streams.get(text);
  if (printed) return report(unseenRule(printed.join('')), place, text);
  if (/^[-+]/.test(text) || !/^[\w%+=,./~*?[\]\uE000-\uE00F -]+$/.test(text)) return report('code/unseen', place, text);
  for (const path of resolvePaths(text, shell)) {
    if (path === undefined) report('shell/unresolved-argument', place);
    else if (!isOfSession(path, shell)) shell.judgement.report('code/unseen', program, path, path);
    else runMade(path, place);
  }
  const { written, downloaded } = shell.judgement.files;
  if (written.has(unknown) || downloaded.has(unknown) || shell.judgement.linksMade) report('code/unseen', place);
  for (const word of rest) touchMention(word, program, shell);
  // Security: Hermetic by the path of its file is Hermetic.
  if (/(?:^|\/)hermetic(?:\.m?js)?$/.test(text)) runProgram(['hermetic', ...rest], shell.fork(), [unknown]);
}

function runMade(path: string, place: Place): void {
  const { files } = place.shell.judgement;
  for (const one of files.completed(path)) {
    place.shell.judgement.step(files.cost);
    const origin = files.originOf(one);
    if (origin) report(origin === 'downloaded' ? 'network/download-then-run' : 'code/unseen', place, one);
    files.settle(one);
  }
}

/** Security: a tool that works in a directory runs what earlier commands brought there. */
export function runFound(text: string, label: string, shell: Shell): void {
  const [program = ''] = label.split(' ');
  if (!isRunner(program)) return;
  const { files } = shell.judgement;
  for (const directory of resolvePaths(text, shell)) {
    shell.judgement.step(files.cost);
    const found = directory === undefined ? undefined : files.foundIn(directory);
    if (!found) continue;
    shell.judgement.report(found.how === 'downloaded' ? 'network/download-then-run' : 'code/unseen', program, found.path);
    files.settle(found.path);
  }
}

const ownHost = /^(?:https?:\/\/)?(?:localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0)(?::[\d\uE000-\uE002]+)?(?:[/?#]|$)/;

function fetchFrom(text: string, place: Place): undefined {
  if (place.downloads) noteDownload(text, place);
  if (/^[a-z][\w+.-]*:(?!\d|\/\/)/i.test(text)) return report('network/remote', place, text);
  const [, scheme = 'http', authority = ''] = /^(?:(\w+):\/\/)?([^/?#]*)/.exec(text) ?? [];
  if (ownHost.test(text)) return;
  if (!/^https?$/.test(scheme) || hasPlaceholder(authority) || /[\\{}[\]]/.test(authority)) return report('network/remote', place, text);
  if (authority.includes('@')) return report('credentials/read', place, text);
  if (
    /^(?:169\.254\.|metadata\b|100\.100\.100\.200|fd00:ec2)/.test(authority) ||
    /^(?:0x[\da-f]+|[\d.]+|\[.*\])$/i.test(authority.replace(/:\d+$/, ''))
  )
    return report('network/remote', place, text);
  if (isUnknown(text)) report('network/upload', place, text);
}

/** Where a program that names the file itself puts what it fetches. */
function noteDownload(text: string, { shell }: Place): void {
  const [, name = ''] = /([^/?#]*)(?:[?#].*)?$/.exec(text) ?? [];
  noteFiles(name, 'downloaded', shell);
}
