import { isBuiltin, runBuiltin } from './builtins.ts';
import { runDefined } from './functions.ts';
import { judgeValue, type Place, runFile } from './kinds.ts';
import { assignOperands, readOption, readRow } from './options.ts';
import { isOfSession } from './paths.ts';
import type { Shell } from './shell.ts';
import { buildFiles } from './tables/build-files.ts';
import { pathPrograms, programs, runnerPrograms } from './tables/index.ts';
import type { Program } from './tables/program.ts';
import { rules } from './tables/rules.ts';
import { resolvePaths, touchDirectory, touchList, touchMention } from './touch.ts';
import { below, fetched, hasPlaceholder, isUnknown, plainToken, runningIndex, temporary, unknown, unseenRule } from './values.ts';
import { runSource } from './walk.ts';

type Texts = readonly string[];

/** Judges one simple command whose words are known as far as they can be. What it prints, as far as that is known. */
export function runFields(fields: Texts, shell: Shell, stdin: Texts): Texts {
  const { judgement } = shell;
  judgement.step(1 + fields.length / 50);
  const [name, ...args] = fields;
  if (name === undefined) return [];
  // An empty first word comes of a list that may be empty: what follows may be the program.
  if (name === '') return runFields(args, shell, stdin);
  return judgement.deeper(() => {
    if (hasPlaceholder(name) || /[*?]|\[./.test(name)) {
      judgement.report('shell/unresolved-command');
      // Security: it may be a program that nobody may run, such as one that starts what follows.
      if (args[0] !== undefined && Object.hasOwn(programs, args[0])) runFields(args, shell.fork(), stdin);
      return [unknown];
    }
    return (name.includes('/') ? undefined : runDefined(name, args, shell, stdin)) ?? runProgram(fields, shell, stdin);
  });
}

const systemDirectory = /^(?:\/usr(?:\/local)?)?\/s?bin\/(?=[^/]+$)/;

/** Whether it is a builtin or in a table. */
export function isKnown(name: string, shell: Shell): boolean {
  return isBuiltin(name) || rowOf(name, shell) !== undefined;
}

/** Judges a command that is no function: behind `command`, `env` and the like a name means the program. */
export function runProgram(fields: Texts, shell: Shell, stdin: Texts): Texts {
  const [name = '', ...args] = fields;
  if (name === '' || hasPlaceholder(name)) {
    shell.judgement.report('shell/unresolved-command');
    return [unknown];
  }
  noteProcesses(name, args, shell);
  // Security: builtins take a word for the name of a variable, and run what stands in its index.
  if ((isBuiltin(name) || name === '[' || name === 'test') && args.some((arg) => runningIndex.test(arg)))
    shell.judgement.report('code/unseen', name);
  const program = name.replace(systemDirectory, '');
  if (program === name && !name.includes('/')) {
    const output = runBuiltin(name, args, shell, stdin);
    if (output) return output;
  }
  const module = /^python -m (.+)$/.exec(program)?.[1];
  const row = rowOf(program, shell) ?? (module === undefined ? undefined : rowOf(module, shell));
  if (row) return runRow(module !== undefined && !rowOf(program, shell) ? module : program, row, args, shell, stdin);
  if (!program.includes('/')) reportUnknown(program, args, shell);
  else {
    runFile(program, { program, shell, stdin, rest: args, downloads: false });
    // A program of the workspace that has the name of a known one is used like it: bin/rails, node_modules/.bin/eslint.
    const base = program.slice(program.lastIndexOf('/') + 1);
    const known = rowOf(base, shell);
    if (known) return runRow(base, known, args, shell, stdin);
  }
  return [unknown];
}

function rowOf(program: string, { judgement }: Shell): Program | undefined {
  if (Object.hasOwn(judgement.added, program)) return judgement.added[program];
  // Versions of a program are the program: python3.12, gcc-13.
  const plain = Object.hasOwn(programs, program) ? program : program.replace(/-?\d+(?:\.\d+)*$/, '');
  return Object.hasOwn(programs, plain) ? programs[plain] : undefined;
}

/** Security: a yes for a program covers other words too, so one that may start another program is asked about each time. */
function reportUnknown(program: string, args: Texts, shell: Shell): void {
  const [first = ''] = args;
  const starts = args.some((arg) => isUnknown(arg) || rowOf(arg.slice(arg.lastIndexOf('/') + 1), shell) !== undefined);
  const label = /^[a-z][\w-]*$/.test(first) && !starts ? `${program} ${first}` : program;
  shell.judgement.report(starts ? 'program/launcher' : 'program/unknown', label);
  lookForDenied(label, args, shell);
}

/** Security: what nobody may do is denied also behind a program of which only this is known: that it is asked about. */
function lookForDenied(label: string, args: Texts, shell: Shell): void {
  const { found } = shell.judgement;
  for (const arg of args) touchMention(arg, label, shell);
  const before = new Set(found.keys());
  for (const [index, arg] of args.entries()) {
    if (rowOf(arg.slice(arg.lastIndexOf('/') + 1), shell)) runFields(args.slice(index), shell.fork(), [unknown]);
    else if (/\s/.test(arg) && !isUnknown(arg)) runSource(arg, shell.fork(), [unknown]);
  }
  for (const [key, { rule }] of found) if (!before.has(key) && rules[rule].answer !== 'deny') found.delete(key);
}

/** Security: ending Hermetic's processes by names or numbers that name it. */
function noteProcesses(name: string, args: Texts, shell: Shell): void {
  if (/^(?:kill|pkill|killall|skill|fuser|systemctl|service|supervisorctl|pm2|tmux|screen)$/.test(name))
    shell.judgement.endsProcesses = true;
  if (
    /^(?:ps|pgrep|pkill|pidof|killall|systemctl|service|grep|awk|lsof|fuser|pm2|supervisorctl|cat)$/.test(name) &&
    args.some((arg) => /hermetic/i.test(arg))
  )
    shell.judgement.namesHermetic = true;
}

/** They make files out of others, under names that are not known. */
const unpacks = /^(?:tar|bsdtar|unzip|7z|7za|gunzip|bunzip2|unxz|cpio|ar|unrar|zstd|gzip|xz|git)$/;

function runRow(label: string, row: Program, args: Texts, shell: Shell, stdin: Texts): Texts {
  const { judgement } = shell;
  if (label === 'git clone' || label === 'git submodule add') judgement.downloaded.add(unknown);
  if (judgement.downloaded.size > 0 && unpacks.test(label)) judgement.downloaded.add(unknown);
  if (row.asks) {
    judgement.report(row.asks, label);
    if (row.operands === undefined && row.subcommands === undefined) {
      lookForDenied(label, args, shell);
      return [unknown];
    }
  }
  // Security: a program that works where it is started runs what it finds there.
  if (runnerPrograms.has(label)) noteBrought(label, shell);
  if (!label.includes(' ')) (pathPrograms.has(label) ? touchList : touchDirectory)('.', label, shell);
  const { subcommands } = readRow(row);
  const operands: string[] = [];
  const given = new Set<string>();
  const place = (rest: Texts): Place => ({ program: label, shell, stdin, rest, downloads: row.downloads === true });
  let ended = false;
  let replaced: string | undefined;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? '';
    judgement.step(0.2);
    if (!ended && arg === '--') {
      const { asks } = readRow(row).options.get('--') ?? {};
      if (asks) judgement.report(asks, label, args[at + 1]);
      ended = true;
      continue;
    }
    if (!ended && /^[-+]./.test(arg) && (arg.startsWith('-') || readRow(row).options.has(arg))) {
      const read = readOption(arg, args[at + 1], row);
      const rest = args.slice(at + 1 + read.taken);
      for (const { name, option, value } of read.given) {
        given.add(name);
        if (!option) {
          if (!row.anyOption) judgement.report('program/option', label, name);
          touchMention(arg, label, shell);
          continue;
        }
        if (option.asks) judgement.report(option.asks, label, name);
        if (option.kind === undefined || value === undefined) continue;
        if (name === '-I') replaced = value;
        if (option.kind === 'exec') {
          at += runUntil(value, rest, operands, place([]));
        } else if (option.kind === 'command' || option.kind === 'module') return judgeValue(option.kind, value, place(rest));
        else if (option.kind === 'shell') runText(value, rest, place([]));
        else judgeValue(option.kind, value, place([]));
        if (option.kind === 'text') touchMention(value.slice(value.indexOf('=') + 1), label, shell);
      }
      at += read.taken;
      continue;
    }
    if (at === 0 && row.firstNamed && !subcommands.has(arg)) judgement.report('program/option', label, arg);
    const subrow = operands.length === 0 && !hasPlaceholder(arg) ? subcommands.get(arg) : undefined;
    if (subrow) return runRow(`${label} ${arg}`, subrow, args.slice(at + 1), shell, stdin);
    if (!ended && mayBeOption(arg, row)) judgement.report('shell/unresolved-argument', label);
    operands.push(arg);
    if (row.optionsFirst) ended = true;
  }
  if (row.asksWithout && !row.asksWithout[0].split(' ').some((name) => given.has(name))) judgement.report(row.asksWithout[1], label);
  if (row.asksAlone && operands.length === 0) judgement.report(row.asksAlone, label);
  return printedBy(row, given, judgeOperands(row, operands, given, { ...place([]), replaced }), stdin);
}

/** Security: a word that is not known may be an option, and so may a file of the workspace that a pattern matches. */
function mayBeOption(arg: string, row: Program): boolean {
  if (row.anyOption) return false;
  return isUnknown(arg[0] ?? '') || (row.noPatterns === true && /^[*?[]/.test(arg));
}

function judgeOperands(row: Program, operands: Texts, given: ReadonlySet<string>, place: Place): ReturnType<typeof assignOperands> & {} {
  const { program, shell, stdin } = place;
  const special = Object.entries(row.operandsWith ?? {}).find(([name]) => given.has(name))?.[1];
  const pattern = special ?? row.operands ?? '';
  if (row.subcommands && row.operands === undefined && operands.length > 0) {
    shell.judgement.report('program/subcommand', `${program} ${hasPlaceholder(operands[0] ?? '') ? '' : operands[0]}`.trim());
    for (const operand of operands) touchMention(operand, program, shell);
    return [];
  }
  const assigned = assignOperands(pattern, pattern.startsWith('prunes') && operands.length === 0 ? ['.'] : operands);
  if (!assigned) {
    shell.judgement.report('program/option', program, operands.at(-1));
    for (const operand of operands) touchMention(operand, program, shell);
    return [];
  }
  // What a program reads as code from its standard input is code that is not seen, unless it is written here for a shell.
  if (/(?:^| )(?:script|sql)(?: |$)/.test(pattern) && !assigned.some(({ kind }) => kind === 'script' || kind === 'sql')) runInput(place);
  noteCopies(assigned, shell);
  for (const { kind: named, text, at } of assigned) {
    const kind = named === 'prunes' && [...given].every((name) => everyFile.test(name)) ? 'delete' : named;
    const rest = operands.slice(at + 1);
    if (kind === 'command' && program === 'xargs') runWithInput([text, ...rest], place);
    else if (kind === 'target' && !given.has('-r') && !given.has('--relative')) judgeValue(kind, fromLink(text, assigned), place);
    else judgeValue(kind, text, { ...place, rest, stdin, downloads: place.downloads && namesItself(program, given) });
  }
  return assigned;
}

/** Whether what is fetched is kept under a name from its address. */
function namesItself(program: string, given: ReadonlySet<string>): boolean {
  if (program === 'wget') return !given.has('-O') && !given.has('--output-document');
  return given.has('-O') || given.has('--remote-name') || given.has('--remote-name-all');
}

/** Options with which `find -delete` removes everything. */
const everyFile = /^-(?:delete|depth|d|maxdepth|mindepth|print|print0|mount|xdev|type|ls|[HLP])$/;

/** Where a symbolic link leads is seen from the link. */
function fromLink(text: string, assigned: readonly { kind: string; text: string }[]): string {
  const link = assigned.findLast(({ kind }) => kind === 'write')?.text ?? '.';
  const directory = link.endsWith('/') ? link : link.includes('/') ? link.slice(0, link.lastIndexOf('/') + 1) : './';
  return text.startsWith('/') ? text : directory + text;
}

/** Security: what a tool finds in the workspace is the workspace's, unless the same command brought it there. */
function noteBrought(program: string, { judgement }: Shell): void {
  if (judgement.downloaded.size > 0) judgement.report('network/download-then-run', program);
  const written = [...judgement.written].find((path) => path === unknown || buildFiles.test(path));
  if (written !== undefined) judgement.report('code/unseen', program, written);
}

/** Security: what is copied from outside the workspace is not a file of the workspace when the same command runs it. */
function noteCopies(assigned: readonly { kind: string; text: string }[], shell: Shell): void {
  const sources = assigned.filter(({ kind }) => kind === 'read' || kind === 'move').map(({ text }) => text);
  if (!sources.some((text) => resolvePaths(text, shell).some((path) => path === undefined || !isOfSession(path, shell)))) return;
  for (const { kind, text } of assigned) {
    if (kind !== 'write') continue;
    for (const path of resolvePaths(text, shell)) {
      shell.judgement.written.add(path ?? unknown);
      for (const source of sources) shell.judgement.written.add(`${path}/${source.slice(source.lastIndexOf('/') + 1)}`);
    }
  }
}

const shells = /^(?:ba|da|k|z|a)?sh$/;

function runInput({ program, shell, stdin }: Place): void {
  for (const text of stdin.length === 0 ? [unknown] : stdin) {
    if (shells.test(program) && !hasPlaceholder(text)) runSource(text, shell.fork(), [unknown]);
    else shell.judgement.report(unseenRule(text), program);
  }
}

/** `sh -c text name words…` */
function runText(text: string, rest: Texts, { shell, stdin }: Place): void {
  const inner = shell.fork();
  const words = rest.filter((_, index) => index > 0 || rest[0] !== '--');
  inner.parameters = words.slice(1);
  inner.variables.set('0', [words[0] ?? 'bash']);
  runSource(text, inner, stdin);
}

/** A command up to `;` or `+`, with `{}` for what is found below the operands. How many words it took. */
function runUntil(first: string, rest: Texts, roots: Texts, place: Place): number {
  const end = rest.findIndex((word) => word === ';' || word === '+');
  const words = [first, ...(end === -1 ? rest : rest.slice(0, end))];
  for (const root of roots.length === 0 ? ['.'] : roots) {
    if (root === '(' || root === '!' || root === ')') continue;
    const command = words.map((word) => word.replaceAll('{}', `${root}/${below}`));
    judgeValue('exec', command[0] ?? '', { ...place, rest: command.slice(1) });
  }
  return end === -1 ? rest.length : end + 1;
}

/** xargs: what it reads stands behind the words, or in the place that `-I` names. */
function runWithInput(words: Texts, { shell, stdin, replaced }: Place): void {
  const found =
    stdin.length > 0 && stdin.every((text) => text.endsWith(below) || text === plainToken || /^[\w./*?-]+$/.test(text)) ? stdin : [unknown];
  for (const text of found) {
    const command = replaced === undefined ? [...words, text] : words.map((word) => word.replaceAll(replaced, text));
    runFields(command, shell.fork(), [unknown]);
  }
}

function printedBy(
  { prints, downloads }: Program,
  given: ReadonlySet<string>,
  assigned: readonly { kind: string; text: string }[],
  stdin: Texts,
): Texts {
  const what = typeof prints === 'object' ? Object.entries(prints).find(([name]) => given.has(name))?.[1] : prints;
  const places = assigned.filter(({ kind }) => kind === 'read' || kind === 'list' || kind === 'prunes').map(({ text }) => text);
  if (what === 'input') return places.length === 0 && stdin.length > 0 ? stdin : [unknown];
  if (what === 'name')
    return [
      [...given, ...assigned.map(({ text }) => text)].some((word) => /\/|\.\.|^--(?:show-toplevel|git-dir|git-common-dir)$/.test(word))
        ? unknown
        : plainToken,
    ];
  // A new file or directory of the system's own choice is the session's.
  if (what === 'temporary') return [given.has('-p') || given.has('--tmpdir') || assigned.length > 0 ? unknown : temporary];
  const roots = places.filter((place) => !/^[(!)]$/.test(place));
  if (what === 'names') return [...roots, `./${below}`];
  if (what !== 'paths') return [downloads ? fetched : unknown];
  return roots.length === 0 ? [`./${below}`] : roots.flatMap((root) => [root, `${root}/${below}`]);
}
