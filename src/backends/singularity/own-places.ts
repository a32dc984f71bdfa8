import { mkdir, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { takeKernelLock } from '../../lib/kernel-lock.ts';
import { liveAttachments } from '../../shell/pipes/attachments.ts';
import { pathsIn, removeTree } from '../sandbox-directory.ts';
import type { View } from './arguments.ts';

/** Places on the disk that one container has for itself. */
export interface OwnPlaces extends Pick<View, 'temporary' | 'overlay'> {
  /** False when another program has the overlay of the session, and this one goes with the container. */
  isOverlayKept: boolean;
  /** Call when the container has ended. May be called again. */
  release(): Promise<void>;
}

/** `imageKey` is that of the image under the overlay; undefined for none. Removes what the containers of dead programs left. */
export async function takeOwnPlaces(directory: string, runDirectory: string, imageKey: string | undefined): Promise<OwnPlaces> {
  const paths = pathsIn(directory);
  await removeLeftOvers(paths);
  const temporary = join(paths.temporary, basename(runDirectory));
  const free = { temporary, overlay: undefined, isOverlayKept: true, release: () => removeTree(temporary) };
  if (imageKey === undefined) return free;
  const overlays = join(directory, 'overlay');
  await mkdir(overlays, { recursive: true, mode: 0o700 });
  // Of its image alone: on top of another one it would make no sense. What the kernel does with one that is mounted twice is undefined.
  const kept = join(overlays, imageKey);
  let lock = takeKernelLock(`${kept}.lock`);
  if (!lock) return { ...free, overlay: join(temporary, 'overlay'), isOverlayKept: false };
  const release = async (): Promise<void> => {
    lock?.close();
    lock = undefined;
    await removeTree(temporary);
  };
  return { ...free, overlay: kept, release };
}

/** Security: commands filled them, and may have closed them to their own user. */
async function removeLeftOvers({ temporary, run }: Pick<ReturnType<typeof pathsIn>, 'temporary' | 'run'>): Promise<void> {
  // In this order: a program is attached before it makes its own.
  const found = await readdir(temporary).catch(() => []);
  const live = liveAttachments(run);
  await Promise.all(found.filter((name) => !live.includes(name)).map((name) => removeTree(join(temporary, name))));
}
