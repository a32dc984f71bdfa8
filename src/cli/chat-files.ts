import { stat, writeFile } from 'node:fs/promises';
import { basename, extname, join, resolve } from 'node:path';
import type { TerminalFiles } from '../channels/terminal/index.ts';
import { makeDirectory } from '../lib/make-directory.ts';
import { plainName } from '../lib/plain-name.ts';
import { readFileWithin } from '../lib/read-file-within.ts';

const maxNames = 1000;

/** Security: files of an agent go to a directory of their own, for their owner alone, under names that hide nothing, and in place of no other. */
export function chatFiles(directory: string): TerminalFiles {
  return {
    save: async (name, data) => {
      makeDirectory(directory, 0o700);
      return await saveUnder(directory, plainName(name), data);
    },
    find: async (path) => {
      const whole = resolve(path);
      const found = await stat(whole);
      if (!found.isFile()) throw new Error(`${path} is not a file`);
      return { path: whole, name: basename(whole), bytes: found.size };
    },
    read: readFileWithin,
  };
}

async function saveUnder(directory: string, name: string, data: Uint8Array): Promise<string> {
  const extension = extname(name);
  const stem = name.slice(0, name.length - extension.length);
  for (let number = 1; number <= maxNames; number++) {
    const path = join(directory, number === 1 ? name : `${stem}-${number}${extension}`);
    try {
      await writeFile(path, data, { flag: 'wx', mode: 0o600 });
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
  throw new Error(`there are ${maxNames} files of this name`);
}
