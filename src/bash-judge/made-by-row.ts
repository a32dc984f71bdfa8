import { bringFiles, noteFiles, type Origin, originIn, placesOf } from './made-files.ts';
import { isOfSession } from './paths.ts';
import type { Shell } from './shell.ts';
import { isCompiler, isRunner } from './tables/index.ts';
import type { Kind, Program } from './tables/program.ts';
import { resolvePaths } from './touch.ts';
import { hasPlaceholder, unknown } from './values.ts';

type Texts = readonly string[];

/** A value of an option, or an operand. */
export interface Touched {
  kind: Kind;
  text: string;
}

interface Made {
  /** Program and subcommand. */
  label: string;
  row: Program;
  given: ReadonlySet<string>;
  values: readonly Touched[];
  operands: readonly Touched[];
  shell: Shell;
  stdin: Texts;
}

/** Security: notes the files that a program makes, because what a file does is not looked at when it is run. */
export function noteMade(made: Made): void {
  const { label, row, values, operands, shell, stdin } = made;
  const { files } = shell.judgement;
  const all = [...values, ...operands].map(plain);
  noteBrings(made, all);
  if (row.downloads) {
    for (const { kind, text } of all) if (kind === 'write') noteFiles(text, 'downloaded', shell);
    for (const { kind, text } of all) if (kind === 'into') noteTree(text, 'downloaded', shell);
    return;
  }
  const { writes, sources } = copiedIn(all, row);
  const [program = ''] = label.split(' ');
  const origin = originOf(sources, operands, shell);
  if (origin && isCompiler(program)) files.note(unknown, origin);
  // Later commands know of lines that came through a pipe from elsewhere.
  const piped = originIn(stdin);
  if (piped) for (const text of writes) bringFiles(text, piped, shell);
  // Without a file to read, tools other than compilers read what they are handed.
  const derives = row.derives === true || isCompiler(program) || (isRunner(program) && operands.length > 0);
  if (!origin && derives && !sources.some(({ text }) => text === '-')) return;
  for (const text of writes) {
    noteFiles(text, origin ?? 'written', shell);
    if (origin === undefined) continue;
    for (const { text: source } of sources) noteFiles(`${text}/${source.slice(source.lastIndexOf('/') + 1)}`, origin, shell);
    if (sources.some(({ text: source }) => meansMany(source, shell))) noteTree(text, origin, shell);
  }
}

/** Notes a directory with all below it. */
function noteTree(text: string, origin: Origin, shell: Shell): void {
  const { files } = shell.judgement;
  for (const place of placesOf(text, shell)) {
    const directory = place.endsWith('/') ? place : `${place}/`;
    files.note(directory, origin);
    if (origin !== 'written') files.bring(directory, origin);
  }
}

/** `dd` names what it does before each file. */
function plain(touched: Touched): Touched {
  const [, key, text = ''] = touched.kind === 'dd' ? (/^(if|of)=(.*)$/s.exec(touched.text) ?? []) : [];
  return key === undefined ? touched : { kind: key === 'if' ? 'read' : 'write', text };
}

const reading: ReadonlySet<Kind> = new Set<Kind>(['read', 'move', 'target', 'directory', 'script']);

/** The files that a program reads and writes. */
function copiedIn(all: readonly Touched[], row: Program): { writes: Texts; sources: readonly Touched[] } {
  const writes = all.filter(({ kind, text }) => kind === 'write' && text !== '-').map(({ text }) => text);
  const sources = all.filter(({ kind }) => reading.has(kind));
  const [only] = writes;
  // With one operand `ln` makes a link of the same name here.
  if (!row.operands?.startsWith('target') || sources.length > 0 || only === undefined) return { writes, sources };
  return { writes: [`./${only.slice(only.lastIndexOf('/') + 1)}`], sources: [{ kind: 'target', text: only }] };
}

/** Where what a program reads comes from, when that is not the workspace as it was. */
function originOf(sources: readonly Touched[], operands: readonly Touched[], shell: Shell): Origin | undefined {
  const { files } = shell.judgement;
  const isCopying = operands.some(({ kind }) => kind === 'write');
  let origin: Origin | undefined;
  for (const source of sources) {
    const { kind, text } = source;
    shell.judgement.step(files.cost);
    // Where a link leads is seen from the link.
    const seen = kind === 'target' && !text.startsWith('/') ? [text, ...linkPlaces(text, operands)] : [text];
    const isCopied = isCopying && (kind === 'read' || kind === 'move') && operands.includes(source);
    for (const path of seen.flatMap((one) => resolvePaths(one, shell))) {
      const isElsewhere = isCopied && (path === undefined || !isOfSession(path, shell));
      const found = path === undefined ? undefined : kind === 'directory' ? originOfFile(path, shell) : files.originOf(path);
      if (found === 'downloaded') return found;
      origin ??= found ?? (isElsewhere ? 'written' : undefined);
    }
  }
  return origin;
}

/** The same for a word that may be a directory, of which only a file that the command made itself counts. */
function originOfFile(path: string, { judgement: { files } }: Shell): Origin | undefined {
  return files.downloaded.has(path) ? 'downloaded' : files.written.has(path) ? 'written' : undefined;
}

function linkPlaces(text: string, operands: readonly Touched[]): Texts {
  return operands
    .filter(({ kind }) => kind === 'write')
    .map(({ text: link }) => `${link.includes('/') ? link.slice(0, link.lastIndexOf('/') + 1) : './'}${text}`);
}

/** Whether it stands for several files, or for a directory with files that are not the workspace's own. */
function meansMany(text: string, shell: Shell): boolean {
  if (hasPlaceholder(text) || /[*?[]/.test(text)) return true;
  return resolvePaths(text, shell).some((path) => path === undefined || shell.judgement.files.mayHold(path));
}

/** Files under names that are not known: the directory they lie in stands for them. */
function noteBrings({ row, given, operands, stdin, shell }: Made, all: readonly Touched[]): void {
  const { files } = shell.judgement;
  const { brings, bringsUnless = '' } = row;
  const how = typeof brings === 'object' ? Object.entries(brings).find(([name]) => given.has(name))?.[1] : brings;
  if (how === undefined || bringsUnless.split(' ').some((name) => given.has(name))) return;
  if (how === 'uncompressed' && !namesItself.some((name) => given.has(name))) {
    for (const { text } of operands) noteFiles(text.replace(/\.[^./]*$/, ''), 'unpacked', shell);
    return;
  }
  const remote = all.find(({ kind }) => kind === 'remote')?.text ?? '';
  if (how === 'addressed' && !/[:/]|^\.\.?$/.test(remote)) return;
  const origin = how === 'uncompressed' ? 'unpacked' : how === 'addressed' ? 'downloaded' : how;
  if (origin === 'written') noteParts(all, operands, stdin, shell);
  const named = all.filter(({ kind }) => kind === 'into').map(({ text }) => text);
  if (origin !== 'unpacked' || named.length === 0) files.note(unknown, origin);
  // A patch that stands in the command is like any other text that the session writes.
  if (origin === 'written' || (origin === 'patched' && stdin.length > 0 && !stdin.some(hasPlaceholder))) return;
  const base = all.findLast(({ kind }) => kind === 'directory')?.text ?? '.';
  const places = named.length > 0 ? named : [remote === '' || how === 'addressed' ? '.' : repositoryName(remote)];
  for (const place of places) noteTree(place.startsWith('/') ? place : `${base}/${place}`, origin, shell);
}

/** The parts of a file come from where it does. */
function noteParts(all: readonly Touched[], operands: readonly Touched[], stdin: Texts, shell: Shell): void {
  const sources = all.filter(({ kind }) => reading.has(kind));
  const origin = originIn(stdin) ?? originOf(sources, operands, shell);
  const prefix = all.find(({ kind }) => kind === 'write')?.text ?? 'x';
  if (origin && origin !== 'written') bringFiles(`${prefix}*`, origin, shell);
}

/** With these a file gets another name than that of its operand, or many files do. */
const namesItself = ['-N', '--name', '-S', '--suffix', '-r', '--recursive', '--output-dir-flat'];

/** The directory that a repository is cloned into. */
function repositoryName(remote: string): string {
  return /([^/:]+?)(?:\.git)?\/*$/.exec(remote)?.[1] ?? '.';
}
