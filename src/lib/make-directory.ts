import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a directory and those above it that are missing. Returns whether it is new; one that exists keeps its mode. Not by Node's recursive mkdir,
 * which never returns where a file system answers ENOENT to every attempt, as /proc does.
 */
export function makeDirectory(path: string, mode: number): boolean {
  const parent = dirname(path);
  if (parent !== path && !existsSync(parent)) makeDirectory(parent, mode);
  try {
    mkdirSync(path, { mode });
    return true;
  } catch (error) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return false;
    throw error;
  }
}
