import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdir, readdir, rename, stat, writeFile } from 'node:fs/promises';
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
  const { key, directory = join(imageDirectory, key) } = await identify(image);
  return (await isDirectory(directory)) ? { directory, key } : undefined;
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
    const prefix = `${key}.work-`;
    // Security: left by a program that died. They are never used, only removed.
    for (const name of await readdir(imageDirectory)) if (name.startsWith(prefix)) await removeTree(join(imageDirectory, name));
    const work = join(imageDirectory, `${prefix}${randomBytes(6).toString('hex')}`);
    try {
      await mkdir(join(work, 'tmp'), { recursive: true, mode: 0o700 });
      await convert(image, work, options.program, listener, signal);
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

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
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
  const kill = (): void => {
    process.kill(-child.pid, 'SIGKILL');
  };
  signal?.addEventListener('abort', kill);
  const [, stdout, stderr] = child.stdio as unknown as [unknown, Readable, Readable];
  stdout.resume();
  let said = '';
  createInterface(stderr).on('line', (line) => {
    said = `${said}${line}\n`.slice(-4096);
    const [, step] = /^INFO:\s+(.+)$/.exec(line) ?? [];
    if (step !== undefined) listener.progress(`${image}: ${printable(step)}`);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  signal?.removeEventListener('abort', kill);
  signal?.throwIfAborted();
  if (code !== 0) throw conversionError(image, said);
  // Other users than its owner are the users of sandboxes, when the product runs as root.
  await chmod(join(work, 'root'), 0o755);
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
