import { type BigIntStats, closeSync, fstatSync, openSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { HermeticError } from '../core/errors.ts';
import { createFile } from '../lib/create-file.ts';
import { makeDirectory } from '../lib/make-directory.ts';
import { foreignPart, userName } from '../lib/path-owners.ts';
import { shellQuote } from '../lib/shell-quote.ts';
import type { Environment } from './environment-layer.ts';

export interface Home {
  /** `HERMETIC_HOME` */
  directory: string;
  /** The meaning of `~`. */
  userHome: string;
  files: { config: string; dotenv: string };
}

export interface HomeRequest {
  environment: Environment;
  /** Instead of what the environment says. */
  home?: string | undefined;
}

export function findHome({ environment, home }: HomeRequest): Home {
  const userHome = environment.HOME || homedir();
  const named = home ?? environment.HERMETIC_HOME?.trim();
  const directory = named ? resolve(expandPath(named, { '~/': userHome })) : join(userHome, '.hermetic');
  return { directory, userHome, files: { config: join(directory, 'config.yaml'), dotenv: join(directory, '.env') } };
}

/** Where the state database of a home is. */
export function stateFile(home: string): string {
  return join(home, 'state.db');
}

/** Different for every version of the files; also when a mode changes, which may make them unfit to be read. Never throws. */
export function filesVersion({ directory, files }: Pick<Home, 'directory' | 'files'>): string {
  const look = <T>(path: string, at: (found: BigIntStats) => T): T | string => {
    try {
      return at(statSync(path, { bigint: true }));
    } catch (error) {
      return (error as NodeJS.ErrnoException).code ?? String(error);
    }
  };
  const versions = [files.config, files.dotenv].map((path) =>
    look(path, ({ ino, size, mtimeNs, ctimeNs }) => [ino, size, mtimeNs, ctimeNs].join(' ')),
  );
  return [...versions, look(directory, ({ mode, uid }) => [mode, uid].join(' '))].join('; ');
}

/** Replaces the first prefix, such as `~/`, that the path starts with. */
export function expandPath(path: string, prefixes: Readonly<Record<string, string>>): string {
  for (const [prefix, directory] of Object.entries(prefixes)) {
    if (path.startsWith(prefix)) return join(directory, path.slice(prefix.length));
  }
  return path;
}

const emptyDotenv = '# Secrets, one NAME=value per line. Only you may read this file: keep it at mode 600.\n';

/** Makes the home, for its owner alone, when there is none. One that exists is left as it is, and refused when others can write to it or replace it. */
export function prepareHome({ directory, files }: Home): void {
  let isNew: boolean;
  try {
    isNew = makeDirectory(directory, 0o700);
  } catch (error) {
    throw unreadable(directory, 'cannot be made or is not a directory', error, writableHint);
  }
  refuseForeign(directory);
  refuseWritable(directory);
  if (!isNew) return;
  try {
    createFile(files.dotenv, () => emptyDotenv);
  } catch (error) {
    throw unwritable(files.dotenv, error);
  }
}

/** Security: a user who can replace config.yaml decides what runs here. */
function refuseWritable(directory: string): void {
  const { mode } = statSync(directory);
  if (process.platform === 'win32' || (mode & 0o022) === 0) return;
  throw unreadable(directory, `can be written by others (mode ${shown(mode)})`, undefined, `Run: chmod go-w ${shellQuote(directory)}`);
}

/** Security: who owns one of the files, the home or a directory above it decides what runs here. Throws unless that is this user or root. */
export function refuseForeign(path: string, from?: string): void {
  const part = foreignPart(path, from);
  if (!part) return;
  const { owner, mode, why } = part;
  const quoted = shellQuote(part.path);
  const leads = part.path === path ? '' : `, which leads to ${path},`;
  if (why === 'writable') {
    throw unreadable(
      part.path,
      `can be written by others (mode ${shown(mode)}), and ${path} is in it`,
      undefined,
      `Run: chmod go-w ${quoted}`,
    );
  }
  const own = process.geteuid?.() ?? 0;
  const instead = own === 0 ? `Run Hermetic as ${userName(owner)}` : 'Set HERMETIC_HOME to a directory of your own';
  throw new HermeticError(
    'config/unreadable',
    `${part.path}${leads} belongs to ${userName(owner)}; only ${own === 0 ? 'root' : `you, ${userName(own)}, or root`} may own it.`,
    { hint: `${instead}, or, if you trust what is there: ${own === 0 ? '' : 'sudo '}chown ${own} ${quoted}` },
  );
}

function shown(mode: number): string {
  return (mode & 0o777).toString(8).padStart(3, '0');
}

export interface ReadOptions {
  /** Refuse a file that anybody but its owner can read or write. */
  ownerOnly: boolean;
}

/** The text of a file, or undefined when there is none. */
export function readTextFile(path: string, { ownerOnly }: ReadOptions): string | undefined {
  let descriptor: number | undefined;
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (!found) return undefined;
    if (!found.isFile()) throw unreadable(path, 'is not a file');
    refuseForeign(path, dirname(path));
    descriptor = openSync(path, 'r');
    const { mode } = fstatSync(descriptor);
    if (ownerOnly && process.platform !== 'win32' && (mode & 0o077) !== 0) {
      throw unreadable(path, `can be read or written by others (mode ${shown(mode)})`, undefined, `Run: chmod 600 ${shellQuote(path)}`);
    }
    if (isOpenToOthers(mode, statSync(dirname(realpathSync(path))).mode)) {
      throw unreadable(path, `can be written by others (mode ${shown(mode)})`, undefined, `Run: chmod go-w ${shellQuote(path)}`);
    }
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(descriptor));
  } catch (error) {
    if (error instanceof HermeticError) throw error;
    if (error instanceof TypeError) throw unreadable(path, 'is not UTF-8 text', error);
    throw unreadable(path, 'cannot be read', error);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Security: a directory that others can enter protects no file in it that they can write. */
function isOpenToOthers(mode: number, directoryMode: number): boolean {
  const canWrite = (mode >> 1) & 0o011;
  return process.platform !== 'win32' && (canWrite & directoryMode) !== 0;
}

const writableHint = 'Set HERMETIC_HOME to a directory you can write to.';

/** For a file that has to be made in the home. */
export function unwritable(path: string, cause: unknown): HermeticError {
  const isFull = ['ENOSPC', 'EDQUOT', 'EFBIG'].includes((cause as NodeJS.ErrnoException).code ?? '');
  return unreadable(path, 'cannot be written', cause, isFull ? 'Make room on its disk.' : writableHint);
}

export function unreadable(path: string, what: string, cause?: unknown, hint?: string): HermeticError {
  const code = (cause as NodeJS.ErrnoException | undefined)?.code;
  return new HermeticError('config/unreadable', `${path} ${what}${code ? ` (${code})` : ''}.`, { hint, cause });
}
