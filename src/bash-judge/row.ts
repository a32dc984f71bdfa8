import { runInput, runText, runUntil, runWithInput } from './inner-commands.ts';
import { judgeValue, type Place, runFile, runFound } from './kinds.ts';
import { noteMade, type Touched } from './made-by-row.ts';
import { contentOf, isBelow, unknownFrom } from './made-files.ts';
import { assignOperands, readOption, readRow } from './options.ts';
import { lookForDenied } from './run.ts';
import type { Shell } from './shell.ts';
import { buildFiles } from './tables/build-files.ts';
import { isRunner, pathPrograms } from './tables/index.ts';
import type { Kind, Program } from './tables/program.ts';
import { touchDirectory, touchList, touchMention } from './touch.ts';
import { below, fetched, hasPlaceholder, isUnknown, plainToken, temporary, unknown } from './values.ts';

type Texts = readonly string[];

/** They make files out of others, under names that are not known: out of what was fetched, what is fetched. */
const unpacks = /^(?:tar|bsdtar|unzip|7z|7za|gunzip|bunzip2|unxz|cpio|ar|unrar|zstd|gzip|xz|git)$/;

/** Judges the words of a program by its row. What it prints, as far as that is known. */
export function runRow(label: string, row: Program, args: Texts, shell: Shell, stdin: Texts, before: readonly Touched[] = []): Texts {
  const { judgement } = shell;
  if (judgement.files.downloaded.size > 0 && unpacks.test(label)) judgement.files.downloaded.add(unknown);
  if (row.asks) {
    judgement.report(row.asks, label);
    if (row.operands === undefined && row.subcommands === undefined) {
      lookForDenied(label, args, shell);
      return [unknown];
    }
  }
  // Security: a program that works where it is started runs what it finds there.
  if (isRunner(label)) {
    noteBrought(label, shell);
    if (!namesScript(row, args) && !onlyShows(args)) runFound('.', label, shell);
  }
  if (!label.includes(' ')) (pathPrograms.has(label) ? touchList : touchDirectory)('.', label, shell);
  const { subcommands } = readRow(row);
  const operands: string[] = [];
  const given = new Set<string>();
  const touched: Touched[] = [...before];
  const place = (rest: Texts): Place => ({ program: label, shell, stdin, rest, downloads: row.downloads === true });
  let ended = false;
  let replaced: string | undefined;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? '';
    judgement.step(0.2);
    if (!ended && arg === '--') {
      // Security: behind it find still reads its expression, and unzip its options.
      if (row.words || label === 'unzip') judgement.report('program/option', label, '--');
      const { asks } = readRow(row).options.get('--') ?? {};
      if (asks) judgement.report(asks, label, args[at + 1]);
      ended = true;
      continue;
    }
    if (!ended && /^[-+]./.test(arg) && (arg.startsWith('-') || readRow(row).options.has(arg))) {
      const read = readOption(arg, args[at + 1], row);
      for (const { name, option, value } of read.given) {
        given.add(name);
        if (!option) {
          if (!row.anyOption) judgement.report('program/option', label, name);
          touchMention(arg, label, shell);
          continue;
        }
        if (option.asks) judgement.report(option.asks, label, name);
        if (option.kind === undefined || value === undefined) continue;
        if (value.includes(unknown) && !row.anyOption) judgement.report('shell/unresolved-argument', label);
        if (name === '-I') replaced = value;
        touched.push({ kind: option.kind, text: value });
        // Copied only where it is needed, for a command may have very many words.
        const rest = beginsCommand.has(option.kind) ? args.slice(at + 1 + read.taken) : [];
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
    if (subrow?.isFile) runFile(arg, place([]));
    if (subrow) return runRow(`${label} ${arg}`, subrow, args.slice(at + 1), shell, stdin, touched);
    if (!ended && mayBeOption(arg, row)) judgement.report('shell/unresolved-argument', label);
    operands.push(arg);
    if (row.optionsFirst) ended = true;
  }
  if (row.asksWithout && !row.asksWithout[0].split(' ').some((name) => given.has(name))) judgement.report(row.asksWithout[1], label);
  if (row.asksAlone && operands.length === 0) judgement.report(row.asksAlone, label);
  const assigned = judgeOperands(row, operands, given, { ...place([]), replaced, splits: given.has('-d') || given.has('--delimiter') });
  noteMade({ label, row, given, values: touched, operands: assigned, shell, stdin });
  const printed = printedBy(label, row, given, assigned, stdin);
  const brought = assigned.map(({ kind, text }) => (kind === 'read' ? contentOf(text, shell) : unknown)).find((text) => text !== unknown);
  return brought === undefined ? printed : printed.map((text) => (text === unknown ? brought : text));
}

function onlyShows(args: Texts): boolean {
  return args.length > 0 && args.every((arg) => /^(?:-[vVh]|--?(?:version|help)|version|help)$/.test(arg));
}

/** Whether the words name the file that an interpreter runs, which is then looked at by itself. */
function namesScript({ operands = '', optionsFirst }: Program, args: Texts): boolean {
  return optionsFirst === true && /^script(?: |$)/.test(operands) && args.some((arg) => !arg.startsWith('-'));
}

/** Kinds of values and operands that the words after them belong to. */
const beginsCommand: ReadonlySet<Kind> = new Set<Kind>(['command', 'exec', 'module', 'shell', 'script']);

/** Security: a word that is not known may be an option, and so may a file of the workspace that a pattern matches. */
function mayBeOption(arg: string, row: Program): boolean {
  // Outside quotes it may be several words.
  if (arg.includes(unknown)) return !(row.anyOption && !/read|list|write|delete|move|script|command/.test(row.operands ?? ''));
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
  // Code that a program reads from its standard input cannot be judged, unless it is shell code written in this command.
  if (/(?:^| )(?:script|sql)(?: |$)/.test(pattern) && !assigned.some(({ kind }) => kind === 'script' || kind === 'sql')) runInput(place);
  for (const { kind: named, text, at } of assigned) {
    const kind = named === 'prunes' && [...given].every((name) => everyFile.test(name)) ? 'delete' : named;
    const rest = beginsCommand.has(kind) ? operands.slice(at + 1) : [];
    if (kind === 'command' && program === 'xargs') runWithInput([text, ...rest], place);
    else if (kind === 'target' && !given.has('-r') && !given.has('--relative')) judgeValue(kind, fromLink(text, assigned), place);
    else if (shell.judgement.dropsPatterns && kind === 'write' && /[*?[]/.test(text))
      shell.judgement.report('shell/unresolved-argument', program);
    else judgeValue(kind, text, { ...place, rest, stdin, downloads: place.downloads && namesItself(program, given) });
  }
  return assigned;
}

/** Whether what is fetched is kept under a name from its address. */
function namesItself(program: string, given: ReadonlySet<string>): boolean {
  if (program === 'wget') return !given.has('-O') && !given.has('--output-document');
  if (program === 'aria2c') return !given.has('-o') && !given.has('--out');
  if (program.startsWith('curl')) return given.has('-O') || given.has('--remote-name') || given.has('--remote-name-all');
  return given.has('-d') || given.has('--download');
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
function noteBrought(program: string, { judgement, workingDirectories }: Shell): void {
  const { downloaded, written } = judgement.files;
  judgement.step(judgement.files.cost);
  if (downloaded.size > 0) judgement.report('network/download-then-run', program);
  const isFound = (path: string): boolean => path === unknown || /[*?\]]$/.test(path) || buildFiles.test(path);
  const made = [...written].find((path) => isFound(path) || workingDirectories.some((directory) => isBelow(directory, path)));
  if (made !== undefined || judgement.linksMade) judgement.report('code/unseen', program, made);
}

function printedBy(
  program: string,
  { prints, downloads }: Program,
  given: ReadonlySet<string>,
  assigned: readonly { kind: string; text: string }[],
  stdin: Texts,
): Texts {
  const what = typeof prints === 'object' ? Object.entries(prints).find(([name]) => given.has(name))?.[1] : prints;
  const places = assigned.filter(({ kind }) => kind === 'read' || kind === 'list' || kind === 'prunes').map(({ text }) => text);
  if (what === 'input') {
    // Lines in another order are another text.
    const isPassed =
      places.length === 0 &&
      (program === 'cat' ? given.size === 0 : [...given].every((name) => /^-[urnVz0]$/.test(name))) &&
      stdin.length > 0 &&
      (program === 'cat' || !stdin.some((text) => /\s/.test(text)));
    return isPassed ? stdin : [unknown];
  }
  // With more about each file in the lines, they are no names.
  if (given.has('-ls') || (what === 'names' && ![...given].every((name) => /^-[1AadtrScF]$/.test(name)))) return [unknown];
  if (what === 'name' && (places.length > 0 || assigned.some(({ kind, text }) => kind === 'format' && !/^\+[\w%:-]*%[\w%:-]+$/.test(text))))
    return [unknown];
  if (what === 'name')
    return [
      [...given, ...assigned.map(({ text }) => text)].some((word) => /\/|\.\.|^--(?:show-toplevel|git-dir|git-common-dir)$/.test(word))
        ? unknown
        : plainToken,
      '',
    ];
  // A new file or directory of the system's own choice is the session's.
  if (what === 'temporary')
    return [[...given].every((name) => /^(?:-[dqu]|--directory|--quiet)$/.test(name)) && assigned.length === 0 ? temporary : unknown];
  const roots = places.filter((place) => !/^[(!)]$/.test(place));
  if (what === 'names') return [...roots, `./${below}`];
  if (what !== 'paths') return [downloads ? fetched : unknownFrom(what)];
  return roots.length === 0 ? [`./${below}`] : roots.flatMap((root) => [root, `${root}/${below}`]);
}
