import { posix } from 'node:path';

/** Where a session starts that asks for `wanted`: `~` is the home, and a relative path begins at the place for work. Without a slash at its end. */
export function workdirInside(wanted: string | undefined, { home, workspace }: { home: string; workspace: string }): string {
  if (wanted === undefined) return workspace;
  const path = wanted === '~' || wanted.startsWith('~/') ? posix.join(home, wanted.slice(1)) : posix.resolve(workspace, wanted);
  return path.length > 1 ? path.replace(/\/+$/, '') : path;
}
