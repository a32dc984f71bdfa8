import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { shellQuote } from './shell-quote.ts';

const name = 'hermetic';

/** The words that run this program in a person's shell, for text that says what to type: `${hermetic} doctor`. */
export let hermetic = name;

/** The same words for strangers. Security: they are not told where on the machine the program is. */
export let hermeticForStrangers = name;

/**
 * Finds these words for the program in the file `program`, by the PATH and the directory it was started with. Comes
 * before other modules are loaded, because their constants contain the words. Documents are generated without it.
 */
export function learnOwnCommand(program: string, path = ''): void {
  if (isLink(executable(name, path), program)) return;
  if (executable('npx', path) !== undefined && isFoundByNpx(program)) {
    hermetic = hermeticForStrangers = `npx ${name}`;
    return;
  }
  const node = isLink(executable('node', path), realpathSync(process.execPath)) ? 'node' : shellQuote(process.execPath);
  hermetic = `${node} ${shellQuote(program)}`;
}

/** The file that `command` runs in a person's shell. npm adds directories to the PATH, for what it starts alone. */
function executable(command: string, path: string): string | undefined {
  const directories = path.split(delimiter).filter((directory) => directory.startsWith('/') && !directory.endsWith('/node_modules/.bin'));
  return directories.map((directory) => join(directory, command)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false; // not there, or not for this user
  }
}

function isLink(file: string | undefined, target: string): boolean {
  return file !== undefined && realpathSync(file) === target;
}

/**
 * Security: by the rules of npm, whose project is in the nearest directory with a package or its dependencies. When
 * the project neither is this program nor has it installed, npx would fetch what others published under the name.
 */
function isFoundByNpx(program: string): boolean {
  const here = currentDirectory();
  const around = here === undefined ? [] : withParents(here);
  const nearest = around.findIndex((directory) => ['package.json', 'node_modules'].some((part) => existsSync(join(directory, part))));
  if (nearest < 0) return false;
  if (around[nearest] === dirname(dirname(program))) return true;
  const installed = around.slice(nearest).map((directory) => join(directory, 'node_modules', '.bin', name));
  return isLink(installed.find(existsSync), program);
}

/** The directory in which the program was started; undefined when it was removed. */
function currentDirectory(): string | undefined {
  try {
    return process.cwd();
  } catch {
    return undefined;
  }
}

function withParents(directory: string): string[] {
  const parent = dirname(directory);
  return parent === directory ? [directory] : [directory, ...withParents(parent)];
}
