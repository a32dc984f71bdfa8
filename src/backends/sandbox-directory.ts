import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { chmod, link, lstat, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import type { ListedSandbox, SandboxSpec } from '../core/sandbox.ts';
import { makeDirectory } from '../lib/make-directory.ts';
import { programs } from '../lib/program-pool.ts';
import { started } from '../lib/started.ts';

/** The record of a sandbox, beside its files and out of its reach. */
interface SandboxRecord {
  name: string;
  session: string;
  image: string | undefined;
  createdAt: Date;
  directory: string;
}

const recordSchema = z.object({ session: z.string(), image: z.string().optional(), createdAt: z.iso.datetime() });

/** Host paths of one sandbox. Only `workspace`, `home` and `temporary` are ever visible inside, and `run` and `received` read-only. */
export function pathsIn(directory: string) {
  return {
    record: join(directory, 'sandbox.json'),
    state: join(directory, 'state.json'),
    run: join(directory, 'run'),
    workspace: join(directory, 'workspace'),
    home: join(directory, 'home'),
    received: join(directory, 'received'),
    /** Temporary files, only where they are not in memory: a directory for each attached program, named as its run directory. */
    temporary: join(directory, 'tmp'),
    /** Only where an engine would put files of its host into its container. */
    etc: join(directory, 'etc'),
  };
}

/** Makes the directory of a sandbox, or finds it. Returns whether it is new, so that it may go when opening fails. */
export async function makeSandboxDirectory(spec: SandboxSpec): Promise<boolean> {
  const paths = pathsIn(spec.directory);
  const isMade = makeDirectory(spec.directory, 0o700);
  await chmod(spec.directory, 0o700);
  for (const path of [paths.workspace, paths.home]) {
    await mkdir(path, { recursive: true, mode: 0o700 });
    // A command may have closed them to its own user. Where it has given them to another user, that one can open them.
    const { mode } = await lstat(path);
    if ((mode & 0o700) !== 0o700) await chmod(path, (mode & 0o777) | 0o700).catch(() => undefined);
  }
  for (const path of [paths.run, paths.received]) await mkdir(path, { recursive: true, mode: 0o755 });
  // The directory above keeps other people of the host out; the user inside is another one.
  await chmod(paths.received, 0o755);
  const known = await readRecord(spec.directory);
  if (known) {
    // A program may have died after it gave a spare to a session.
    if (known !== 'damaged' && known.session === '' && spec.session !== '') await nameSession(spec);
    return false;
  }
  const isNew = isMade || !(await hasContent(spec.directory));
  const own = await writeRecord(spec, new Date());
  try {
    // Of several who come at once, one is the first.
    await link(own, paths.record);
    return isNew;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(own);
  }
}

/** Security: a directory that lost its record may have the files of a session. Doubt counts as content. */
async function hasContent(directory: string): Promise<boolean> {
  const { workspace, home } = pathsIn(directory);
  try {
    const [own, ...inside] = await Promise.all([directory, workspace, home].map((path) => readdir(path)));
    return own?.some((name) => name.endsWith('.json')) || inside.some((names) => names.length > 0);
  } catch {
    return true;
  }
}

/** Records the session of a sandbox that was made as a spare. */
export async function nameSession(spec: SandboxSpec): Promise<void> {
  const known = await readRecord(spec.directory);
  if (known && known !== 'damaged') await rename(await writeRecord(spec, known.createdAt), pathsIn(spec.directory).record);
}

/** To a file of its own, whose path it returns. */
async function writeRecord({ name, session, image, directory }: SandboxSpec, createdAt: Date): Promise<string> {
  const path = `${pathsIn(directory).record}.${randomUUID()}`;
  await writeFile(path, JSON.stringify({ name, session, image, createdAt: createdAt.toISOString() }), { mode: 0o600 });
  return path;
}

/**
 * undefined when there is none. Security: any other failure counts as damaged, because without a record the files of a
 * session would be removed.
 */
async function readRecord(directory: string): Promise<SandboxRecord | 'damaged' | undefined> {
  try {
    const { session, image, createdAt } = recordSchema.parse(JSON.parse(await readFile(pathsIn(directory).record, 'utf8')));
    return { name: basename(directory), session, image, createdAt: new Date(createdAt), directory };
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : 'damaged';
  }
}

const removedMark = '.removed-';

/**
 * Renames the directory of a sandbox and removes it, so that what a crash in between leaves belongs to no session.
 * `remove` gets the new path.
 */
export async function removeSandboxDirectory(directory: string, remove = removeTree): Promise<void> {
  const renamed = `${directory}${removedMark}${randomUUID()}`;
  const isRenamed = await rename(directory, renamed).then(
    () => true,
    () => false,
  );
  await remove(isRenamed ? renamed : directory);
}

export interface ListedDirectory extends SandboxRecord {
  /** False when there is no record: its program died while it was making the directory or removing it. A damaged record is one. */
  hasFiles: boolean;
}

/** Every directory below that of one backend: those with a record, and those without. Rejects when it cannot be read. */
export async function listDirectories(backendDirectory: string): Promise<{ records: ListedDirectory[]; bare: ListedDirectory[] }> {
  const names = await readdir(backendDirectory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const all = await Promise.all(names.map((name) => listedDirectory(join(backendDirectory, name))));
  const listed = all.filter((one) => one !== undefined);
  return { records: listed.filter(({ hasFiles }) => hasFiles), bare: listed.filter(({ hasFiles }) => !hasFiles) };
}

async function listedDirectory(directory: string): Promise<ListedDirectory | undefined> {
  const name = basename(directory);
  const record = await readRecord(directory);
  const hasFiles = record !== undefined && !name.includes(removedMark);
  if (record && record !== 'damaged') return { ...record, hasFiles };
  const stat = statSync(directory, { throwIfNoEntry: false });
  return stat && { name, session: '', image: undefined, createdAt: stat.mtime, directory, hasFiles };
}

/**
 * A directory without a record, of a backend that has its files elsewhere. Security: removes only the directory. What is elsewhere under the same
 * name is listed apart, because it may have the files of a session.
 */
export function bareSandbox(bare: ListedDirectory, remove: (directory: string) => Promise<void> = removeSandboxDirectory): ListedSandbox {
  return { ...bare, state: 'stopped', stop: async () => true, destroy: () => remove(bare.directory) };
}

const maxRemovals = 8;

/**
 * Also removes what a sandbox made unreadable for its own user, and trees deeper than a path can say. Security: `rm` walks from directory
 * to directory and never through a link, not even one that takes a directory's place meanwhile.
 */
export async function removeTree(path: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const complaint = await run('rm', ['-rf', '--', path]);
    if (complaint === '') return;
    if (attempt === maxRemovals) throw new Error(`${path} could not be removed: ${complaint}`);
    if (attempt === 1) await run('chmod', ['-R', '--', 'u+rwX', path]);
    // A process that has not noticed the removal yet may still be writing files.
    else await sleep(10 * attempt);
  }
}

/** The first complaint of a program that may have very many; empty when it succeeded. */
async function run(program: string, args: readonly string[]): Promise<string> {
  const child = started(spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] }));
  let complaint = '';
  child.stderr.on('data', (data: Buffer) => {
    if (complaint.length < 1000) complaint += data.toString();
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return code === 0 ? '' : complaint.split('\n')[0] || `${program} ended with ${code}`;
}

/** Size of a directory on the disk; 0 when it is gone. Files that vanish meanwhile are ignored. */
export async function directoryBytes(directory: string): Promise<number> {
  if (directory === '') return 0;
  let text = '';
  const onOutput = (piece: Buffer): void => {
    text += piece.toString('latin1');
  };
  await programs.run({ words: ['du', '-sk', '--', directory], onOutput });
  return (Number(text.split('\t')[0]) || 0) * 1024;
}
