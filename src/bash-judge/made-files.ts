import type { Brought } from '../core/approval.ts';
import { globExpression, isPattern } from './glob.ts';
import type { Shell } from './shell.ts';
import { buildFiles } from './tables/build-files.ts';
import { resolvePaths } from './touch.ts';
import { fetched, hasPlaceholder, placeholders, unknown, unpacked } from './values.ts';

type Elsewhere = Brought & { how: Exclude<Brought['how'], 'own'> };

/** How a file that is not the workspace's own came there. */
export type Origin = 'written' | Elsewhere['how'];

/**
 * The files that are not the workspace's own: those that the command makes, and those that earlier commands of the
 * session brought. A path that ends in a slash is a directory with all below it.
 */
export class MadeFiles {
  /** The files that the command writes and fetches: absolute paths, or `unknown`. */
  readonly written = new Set<string>();
  readonly downloaded = new Set<string>();
  /** For later commands, in the order in which it happens. */
  readonly brings: Brought[] = [];
  /** With what earlier commands brought; the newest is the last. */
  readonly #brought: Brought[];
  /** Whether what runs now is only looked for. */
  #isSearch = false;
  /** Whether the rest of the command may not run, or fail to write. */
  #isUnsure = false;

  constructor(earlier: readonly Brought[]) {
    this.#brought = [...earlier];
  }

  /** The steps that it takes to look through all of them once. */
  get cost(): number {
    return (this.written.size + this.downloaded.size + this.#brought.length) / 10;
  }

  /** Notes a file for the rest of the command. */
  note(path: string, origin: Origin): void {
    (origin === 'downloaded' ? this.downloaded : this.written).add(path);
  }

  /** Notes a file for later commands. */
  bring(path: string, how: Brought['how']): void {
    this.brings.push({ path, how });
    this.#brought.push({ path, how });
  }

  /** A file is the session's own: a person let it run. */
  settle(path: string): void {
    if (!this.#isSearch && !isOpen(path) && this.howBrought(path)) this.bring(path, 'own');
  }

  /** The same for a file that the session writes anew. Security: where that is not sure, its old content may stay. */
  settleWritten(path: string): void {
    if (!this.#isUnsure) this.settle(path);
  }

  /** From here on nothing that the command writes is sure. */
  doubt(): void {
    this.#isUnsure = true;
  }

  /** Looks at commands that do not run here: they make nothing the session's own. */
  search(look: () => void): void {
    const before = this.#isSearch;
    this.#isSearch = true;
    look();
    this.#isSearch = before;
  }

  /** How a path, perhaps a pattern, came from elsewhere in this command or an earlier one: the newest record counts. */
  howBrought(path: string): Elsewhere['how'] | undefined {
    for (let at = this.#brought.length - 1; at >= 0; at--) {
      const { path: place, how } = this.#brought[at] as Brought;
      if (how !== 'own' && mayCover(place, path)) return how;
      // Security: of a pattern it is not known which of the files it means.
      if (how === 'own' && !isOpen(path) && (place === path || isBelow(path, place))) return undefined;
    }
    return undefined;
  }

  /** The record by which a tool that works in a directory runs what was brought there. */
  foundIn(directory: string): Elsewhere | undefined {
    const isFound = (path: string): boolean => isBelow(directory, path) || (isBelow(path, `${directory}/`) && buildFiles.test(path));
    return this.#newest(isFound);
  }

  /** Where a path, perhaps a pattern or a directory, comes from when that is not the workspace as it was. */
  originOf(path: string): Origin | undefined {
    const isOne = (made: string): boolean => mayCover(made, path) || isBelow(made, `${path}/`);
    if ([...this.downloaded].some(isOne)) return 'downloaded';
    return this.howBrought(path) ?? this.#heldIn(path)?.how ?? ([...this.written].some(isOne) ? 'written' : undefined);
  }

  /** The path, and the files that Node.js and Ruby may take it for. */
  completed(path: string): readonly string[] {
    const isNamed = (name: string): boolean =>
      this.written.has(name) || this.downloaded.has(name) || this.#brought.some((one) => one.path === name);
    return [path, ...endings.map((ending) => path + ending).filter(isNamed)];
  }

  /** Whether a path may be a directory with files that were made or brought. */
  mayHold(path: string): boolean {
    const isHeld = (made: string): boolean => made !== path && isBelow(made, `${path}/`);
    if ([...this.written, ...this.downloaded].some(isHeld) || this.#heldIn(path)) return true;
    // A part of a directory that was brought: with an ending it is taken for a file.
    return !/\.[^./]+$/.test(path) && this.#brought.some((one) => one.how !== 'own' && isBelow(path, one.path));
  }

  #heldIn(path: string): Elsewhere | undefined {
    return this.#newest((made) => isBelow(made, `${path}/`));
  }

  /** The newest record that fits and that no later one about the same path has settled. */
  #newest(fits: (path: string) => boolean): Elsewhere | undefined {
    const seen = new Set<string>();
    for (let at = this.#brought.length - 1; at >= 0; at--) {
      const { path, how } = this.#brought[at] as Brought;
      if (how !== 'own' && !seen.has(path) && fits(path)) return { path, how };
      seen.add(path);
    }
    return undefined;
  }
}

const endings = ['.js', '.cjs', '.mjs', '.json', '.rb'];

/** Whether a path is in a directory, which ends in a slash, or is it. */
export function isBelow(path: string, directory: string): boolean {
  return directory.endsWith('/') && `${path}/`.startsWith(directory);
}

/** Whether a file or directory that was made may be this path, or hold it. */
function mayCover(made: string, path: string): boolean {
  if (made === path || isBelow(path, made)) return true;
  const [one, other] = [knownStart(path), knownStart(made)];
  if (one !== undefined && other !== undefined) return one.startsWith(other) || other.startsWith(one);
  // A pattern may match the directory itself, and then a file below it.
  if (one !== undefined && made.endsWith('/')) return one.startsWith(made) || made.startsWith(one);
  return mayBe(path, made) || mayBe(made, path);
}

function isOpen(path: string): boolean {
  return isPattern(path) || hasPlaceholder(path);
}

/** The text before the first part that is not known; undefined when all is known. */
function knownStart(path: string): string | undefined {
  return isOpen(path) ? path.slice(0, path.search(notKnown)) : undefined;
}

const notKnown = new RegExp(`[*?[]|${placeholders.source}`);

/** Whether a path with parts that are not known may be this one. */
function mayBe(path: string, known: string): boolean {
  if (hasPlaceholder(path)) return known.startsWith(knownStart(path) ?? path);
  return isPattern(path) && (globExpression(path, false)?.test(known) ?? true);
}

/** Notes files by the words that name them. */
export function noteFiles(text: string, origin: Origin, shell: Shell): void {
  const { files } = shell.judgement;
  for (const path of resolvePaths(text, shell)) files.note(path ?? unknown, origin);
  if (origin !== 'written') bringFiles(text, origin, shell);
}

/** Notes files for later commands by the words that name them. */
export function bringFiles(text: string, how: Brought['how'], shell: Shell): void {
  for (const path of placesOf(text, shell)) shell.judgement.files.bring(path, how);
}

/** The paths that a text may mean; for a name that is not known, the directory that it lies in. */
export function placesOf(text: string, shell: Shell): readonly string[] {
  const here = (): readonly string[] => shell.workingDirectories.filter((place) => !isOpen(place)).map((place) => `${place}/`);
  return resolvePaths(text, shell).flatMap((path) => (path === undefined ? here() : [path]));
}

/** Where a text comes from, at least in part, when that is elsewhere. */
export function originIn(texts: readonly string[]): 'downloaded' | 'unpacked' | undefined {
  if (texts.some((text) => text.includes(fetched))) return 'downloaded';
  return texts.some((text) => text.includes(unpacked)) ? 'unpacked' : undefined;
}

/** A text that is not known, and what it comes from. */
export function unknownFrom(how: Brought['how'] | undefined): string {
  return how === undefined ? unknown : unknown + (how === 'downloaded' ? fetched : unpacked);
}

/** The content of a file: not known, and perhaps from elsewhere. */
export function contentOf(text: string, shell: Shell): string {
  const { files } = shell.judgement;
  shell.judgement.step(files.cost);
  const origins = resolvePaths(text, shell).map((path) => (path === undefined ? undefined : files.howBrought(path)));
  return unknownFrom(origins.find((how) => how !== undefined));
}
