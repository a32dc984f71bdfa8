import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';

/** Where the programs of the host are that backends use. */
export const standardPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Security: not by the PATH of the process environment. */
export function findProgram(name: string): string | undefined {
  const paths = [...standardPath.split(':'), '/run/current-system/sw/bin'].map((directory) => join(directory, name));
  return paths.find((path) => isAccessible(path, constants.X_OK));
}

export function isAccessible(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}
