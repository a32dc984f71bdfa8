import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { chmod, chown, lstat, mkdir, open, readdir, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { HermeticError } from '../../core/errors.ts';
import type { OpenListener } from '../../core/sandbox.ts';
import { withFileLock } from '../../lib/file-lock.ts';
import { printable } from '../../lib/printable.ts';
import { give, hostUserHere, stagePlace } from '../namespaces/stage.ts';
import { removeTree } from '../sandbox-directory.ts';
import { guise, guiseName } from './arguments.ts';
import { lastLines } from './failures.ts';
import { spawnStaged, spawnTied, type Tied } from './launch.ts';

/** An image as a directory of this machine. */
export interface FoundImage {
  directory: string;
  /** Another image has another one. Harmless in paths. */
  key: string;
}

export interface ImageOptions {
  /** The program Apptainer. */
  program: string;
  /** Where converted images are kept. */
  imageDirectory: string;
}

const remote = /^(docker|oras|library):\/\/[^\s-]\S*$/;
const archive = /^(docker-archive|oci-archive):(\/\S+)$/;

/**
 * A directory is used as it is. Everything else is converted once into one, which starts without a further program and at once, where a SIF file
 * would have to be mounted or unpacked for every sandbox. undefined when that is still to be done.
 */
export async function findImage(image: string, { imageDirectory }: Pick<ImageOptions, 'imageDirectory'>): Promise<FoundImage | undefined> {
  const { key, directory } = await identify(image);
  if (directory !== undefined) return { directory, key };
  if (!(await isOwnDirectory(imageDirectory))) return undefined;
  const made = join(imageDirectory, key);
  // Security: a link is none of ours.
  return (await lstat(made).catch(() => undefined))?.isDirectory() === true ? { directory: made, key } : undefined;
}

/** The image, converted before if need be. Several programs that want the same one at once wait for the first. */
export async function ensureImage(image: string, options: ImageOptions, listener: OpenListener, signal?: AbortSignal): Promise<FoundImage> {
  const known = await findImage(image, options);
  if (known) return known;
  const { imageDirectory } = options;
  const { key } = await identify(image);
  await mkdir(imageDirectory, { recursive: true, mode: 0o700 });
  listener.progress(`${image} must be converted first …`);
  return await withFileLock(join(imageDirectory, `${key}.lock`), signal, async () => {
    const made = await findImage(image, options);
    if (made) return made;
    await removeLeftOvers(imageDirectory, key);
    const work = join(imageDirectory, `${key}.work-${randomBytes(6).toString('hex')}`);
    try {
      await mkdir(join(work, 'tmp'), { recursive: true, mode: 0o700 });
      await convert(image, work, options.program, listener, signal);
      await seal(work).catch((cause: unknown) => {
        throw new HermeticError('sandbox/no-image', `The image ${image} could not be converted: no directory came of it.`, { cause });
      });
      const directory = join(imageDirectory, key);
      await rename(join(work, 'root'), directory);
      return { directory, key };
    } finally {
      await removeTree(work);
    }
  });
}

/** The key of an image, and where it is if it needs no conversion. */
async function identify(image: string): Promise<{ key: string; directory?: string }> {
  const path = localPath(image);
  if (path === undefined && !remote.test(image)) {
    throw new HermeticError('sandbox/no-image', `${image} is no image for Apptainer.`, {
      hint: 'Name one as docker://name:tag, docker-archive:/file.tar, or by the absolute path of a SIF file or a directory.',
    });
  }
  if (path === undefined) return { key: keyOf(image) };
  const status = await stat(path).catch((cause: unknown) => {
    throw new HermeticError('sandbox/no-image', `The image ${path} does not exist or cannot be read.`, { cause });
  });
  if (status.isDirectory()) return { key: keyOf(path), directory: path };
  // A file that was replaced is another image.
  return { key: keyOf([image, status.size, status.mtimeMs, status.ino].join('\n')) };
}

/** Of the file or directory of this machine that an image is. */
function localPath(image: string): string | undefined {
  return archive.exec(image)?.[2] ?? (image.startsWith('/') ? image : undefined);
}

function keyOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/** False when there is none yet. Security: throws when another user could put an image there. */
async function isOwnDirectory(imageDirectory: string): Promise<boolean> {
  const status = await lstat(imageDirectory).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return undefined;
  });
  if (!status) return false;
  if (status.isDirectory() && status.uid === process.getuid?.() && (status.mode & 0o022) === 0) return true;
  throw new HermeticError('sandbox/no-image', `Other users may put images into ${imageDirectory}, or it is no directory.`, {
    hint: 'Set terminal.singularity_image_directory to a directory, not a link, that belongs to the user of Hermetic and that only this user can write to.',
  });
}

/** Security: left by programs that died. They are never used, only removed. The lock of this key is ours. */
async function removeLeftOvers(imageDirectory: string, ownKey: string): Promise<void> {
  for (const name of await readdir(imageDirectory)) {
    const [, key] = /^([0-9a-f]{32})\.work-/.exec(name) ?? [];
    const remove = (): Promise<void> => removeTree(join(imageDirectory, name));
    if (key === ownKey) await remove();
    // Does not wait: a conversion that has the lock is at work.
    else if (key !== undefined) await withFileLock(join(imageDirectory, `${key}.lock`), AbortSignal.abort(), remove).catch(() => undefined);
  }
}

/** Makes `root` in the directory for work. Its process ends with this program. */
async function convert(
  image: string,
  work: string,
  program: string,
  listener: OpenListener,
  signal: AbortSignal | undefined,
): Promise<void> {
  signal?.throwIfAborted();
  listener.progress(`converting ${image} …`);
  const child = await spawnBuild(image, work, program);
  const kill = (): void => killGroup(child.pid);
  signal?.addEventListener('abort', kill);
  // It may have been while the program started.
  if (signal?.aborted) kill();
  const [, stdout, stderr] = child.stdio as unknown as [unknown, Readable, Readable];
  stdout.resume();
  let said = '';
  createInterface(stderr).on('line', (line) => {
    said = `${said}${line}\n`.slice(-4096);
    const [, step] = /^INFO:\s+(.+)$/.exec(line) ?? [];
    if (step !== undefined) listener.progress(`${image}: ${printable(step)}`);
  });
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    signal?.throwIfAborted();
    if (code !== 0) throw conversionError(image, said);
  } finally {
    signal?.removeEventListener('abort', kill);
    // What it may have left running.
    kill();
  }
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

/** Security: takes the directory for work from the user that unpacked, before `root` in it is touched: it may be a link, or become one. */
async function seal(work: string): Promise<void> {
  if (process.getuid?.() === 0) await chown(work, 0, 0);
  await chmod(work, 0o700);
  const root = await open(join(work, 'root'), constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    // Other users than its owner are the users of sandboxes, when the product runs as root.
    await root.chmod(0o755);
  } finally {
    await root.close();
  }
}

/** Security: as root it becomes another user, because it unpacks what came from elsewhere. */
async function spawnBuild(image: string, work: string, program: string): Promise<Tied> {
  const user = await hostUserHere('singularity-images');
  const commandAt = (place: string, source: string) => [program, 'build', '--sandbox', '--fix-perms', join(place, 'root'), source];
  const envAt = (place: string) => ({ APPTAINER_CACHEDIR: join(place, 'cache'), APPTAINER_TMPDIR: join(place, 'tmp') });
  if (user === undefined) return await spawnTied(commandAt(work, image), { env: envAt(work) });
  const accounts = join(work, 'accounts');
  await mkdir(accounts);
  for (const [path, text] of Object.entries(guise(user, user, ''))) await writeFile(join(accounts, guiseName(path)), text);
  await give(work, user);
  const file = localPath(image);
  const [workPlace = '', filePlace] = [stagePlace(0), file && stagePlace(1)];
  const source = file === undefined || filePlace === undefined ? image : image.replace(file, () => filePlace);
  return await spawnStaged({ user, sources: [work, file], accounts }, () => commandAt(workPlace, source), { env: envAt(workPlace) });
}

function conversionError(image: string, said: string): HermeticError {
  const isFull = /no space left on device|disk quota exceeded/i.test(said);
  const why = isFull ? 'there is no space left in the directory of images' : lastLines(said);
  return new HermeticError('sandbox/no-image', `The image ${image} could not be converted: ${why}.`, {
    hint: isFull
      ? 'Make room, or set terminal.singularity_image_directory to a directory on a larger disk.'
      : 'apptainer build --sandbox DIRECTORY IMAGE shows more.',
  });
}
