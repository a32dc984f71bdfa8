import { closeSync, constants, fsyncSync, openSync } from 'node:fs';

/** Also for a directory, whose names are then on disk. */
export function syncPath(path: string): void {
  const descriptor = openSync(path, constants.O_RDONLY);
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
