import { randomBytes } from 'node:crypto';
import { chmod, link, lstat, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HermeticError } from '../core/errors.ts';
import { plainName } from '../lib/plain-name.ts';

/** Where sandboxes see the files that people sent, read-only. Not below another directory: root inside could move that away and put its own there. */
export const receivedInside = '/received';

const maxSameNames = 1000;

/**
 * Writes a file for the sandbox that sees this directory of the host read-only. Resolves with its name: what is there already under its name is not
 * written again; another file of that name leaves it a number. Whole or not at all.
 */
export async function receiveFile(directory: string, wanted: string, data: Uint8Array): Promise<string> {
  // Security: the sender of a file chooses its name.
  const plain = plainName(wanted);
  const draft = join(directory, `.${randomBytes(8).toString('hex')}`);
  try {
    await writeFile(draft, data, { flag: 'wx', mode: 0o444, flush: true });
    // Regardless of the umask: the user inside may be another one.
    await chmod(draft, 0o444);
    for (let number = 1; number <= maxSameNames; number++) {
      const name = number === 1 ? plain : `${number}-${plain}`;
      // A link, unlike a rename, never replaces a file.
      const isNew = await link(draft, join(directory, name)).then(
        () => true,
        (error: NodeJS.ErrnoException) => {
          if (error.code !== 'EEXIST') throw error;
          return false;
        },
      );
      if (isNew || (await holds(join(directory, name), data))) return name;
    }
  } finally {
    await rm(draft, { force: true });
  }
  throw new HermeticError('file/failed', `There are ${maxSameNames} files called ${plain} already.`);
}

async function holds(path: string, data: Uint8Array): Promise<boolean> {
  const status = await lstat(path);
  return status.isFile() && status.size === data.length && (await readFile(path)).equals(data);
}
