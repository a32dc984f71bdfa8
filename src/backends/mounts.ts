import { realpath, stat } from 'node:fs/promises';
import { normalize } from 'node:path/posix';
import { HermeticError } from '../core/errors.ts';
import type { Mount } from '../core/sandbox.ts';
import { isEngineSocketName, pathBelow } from './engine-sockets.ts';

/** Paths inside that no mount may replace: some themselves, others with all they contain. */
export interface ReservedTargets {
  places: readonly string[];
  trees: readonly string[];
}

/** The mount with normal paths. Refuses relative paths and reserved targets. */
export function normalMount(mount: Mount, { places, trees }: ReservedTargets): Mount {
  const [source, target] = [normalPath(mount.source), normalPath(mount.target)];
  if (!source.startsWith('/') || !target.startsWith('/')) throw refusedMount(mount, 'both paths must be absolute');
  const inside = target.replace(/^\/var\/run(?=\/|$)/, '/run');
  // Security: the parts of the sandbox itself and the kernel's file systems are not to be replaced.
  if (places.includes(inside) || trees.some((tree) => pathBelow(tree, inside) !== undefined)) {
    throw refusedMount(mount, 'that place is reserved', 'Choose a target such as /data or a directory below /workspace.');
  }
  return { source, target, readOnly: mount.readOnly };
}

/** Without a slash at the end. */
export function normalPath(path: string): string {
  const normal = normalize(path);
  return normal.length > 1 ? normal.replace(/\/+$/, '') : normal;
}

/**
 * The mount with its source resolved, so that what was checked is what is mounted. Refuses a source that does not exist.
 * Security: access to the socket of an engine is access to the host, and a read-only mount does not stop a connection.
 */
export async function resolvedMount(mount: Mount): Promise<Mount> {
  const source = await realpath(mount.source).catch((error: NodeJS.ErrnoException) => {
    throw refusedMount(mount, error.code === 'ENOENT' ? 'it does not exist' : error.message);
  });
  if (isEngineSocketName(source) && (await stat(source)).isSocket()) throw refusedSocket(mount);
  return { ...mount, source };
}

export function refusedSocket(mount: Mount): HermeticError {
  const why = 'it is or contains the socket of a container engine, which gives full control of this machine';
  return refusedMount(mount, why, 'Nothing allows this. Mount a directory without it.');
}

export function refusedMount({ source, target }: Mount, why: string, hint?: string): HermeticError {
  return new HermeticError('config/bad-value', `terminal.docker_volumes: ${source} cannot be mounted at ${target}: ${why}.`, { hint });
}
