import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { HermeticError } from '../core/errors.ts';
import type { Mount } from '../core/sandbox.ts';
import { makeDirectory } from '../lib/make-directory.ts';

/** Where sandboxes find the home mounts, read-only. */
const insideDirectory = '/opt/hermetic';
export const skillsInside = `${insideDirectory}/skills`;

export interface HomeMountOptions {
  hermeticHome: string;
  /** Paths relative to the home. */
  credentialFiles: readonly string[];
  /** Host directory for this sandbox's copies of the credential files. */
  credentialsDirectory: string;
}

/** Mounts for credential files, skills and caches. Nothing is written. */
export async function homeMounts({ hermeticHome, credentialFiles, credentialsDirectory }: HomeMountOptions): Promise<Mount[]> {
  const mounts: Mount[] = [];
  if (credentialFiles.length > 0) {
    await Promise.all(credentialFiles.map((name) => fileInside(hermeticHome, name)));
    mounts.push({ source: credentialsDirectory, target: `${insideDirectory}/credentials`, readOnly: true });
  }
  for (const name of ['skills', 'cache']) {
    const source = join(hermeticHome, name);
    if (existsSync(source)) mounts.push({ source: await inside(hermeticHome, name), target: `${insideDirectory}/${name}`, readOnly: true });
  }
  return mounts;
}

/**
 * Copies the credential files into the directory that is mounted as a whole, so that one that is added or replaced later is seen by a sandbox that
 * is already running.
 */
export async function copyCredentials({ hermeticHome, credentialFiles, credentialsDirectory }: HomeMountOptions): Promise<void> {
  if (credentialFiles.length === 0) return;
  // All are looked at before any is copied.
  const sources = await Promise.all(credentialFiles.map(async (name) => ({ name, source: await fileInside(hermeticHome, name) })));
  makeDirectory(credentialsDirectory, 0o700);
  // The directories above keep other people of the host out; the user inside is another one.
  await chmod(credentialsDirectory, 0o755);
  const wanted = new Set<string>();
  for (const { name, source } of sources) {
    const target = join(credentialsDirectory, name);
    await mkdir(dirname(target), { recursive: true, mode: 0o755 });
    await copyFile(source, `${target}.new`);
    await chmod(`${target}.new`, 0o444);
    await rename(`${target}.new`, target);
    wanted.add(target);
  }
  for (const entry of await readdir(credentialsDirectory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && !wanted.has(path)) await rm(path);
  }
}

async function fileInside(home: string, name: string): Promise<string> {
  const source = await inside(home, name);
  if (!(await stat(source)).isFile()) throw refusal(name, 'it is not a file');
  return source;
}

/** Security: the real place of a path of the home, which no `..` and no link takes out of it. */
async function inside(home: string, name: string): Promise<string> {
  const root = await realpath(home);
  const path = await realpath(join(root, name)).catch(() => {
    throw refusal(name, `it is not in ${home}`);
  });
  const way = relative(root, path);
  if (way === '' || way === '..' || way.startsWith(`..${sep}`)) throw refusal(name, `it leads out of ${home}`);
  return path;
}

function refusal(name: string, why: string): HermeticError {
  return new HermeticError('config/bad-value', `${name} cannot be mounted into a sandbox: ${why}.`, {
    hint: 'terminal.credential_files are paths relative to the Hermetic home.',
  });
}
