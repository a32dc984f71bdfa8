import { posix } from 'node:path';
import type { Mount } from '../../core/sandbox.ts';
import { isEngineSocketName, pathBelow, presentEngineSockets, usualEngineSockets } from '../engine-sockets.ts';
import { normalMount, type ReservedTargets, refusedSocket, resolvedMount } from '../mounts.ts';
import type { EngineAddress } from './address.ts';

const reserved: ReservedTargets = { places: ['/', '/run'], trees: ['/proc', '/sys', '/dev', '/run/hermetic'] };

/**
 * The mounts as the engine gets them, with resolved sources where its disk is this one.
 * Security: a directory that contains the socket of an engine is refused, unless another of the mounts covers the socket. Which socket the engine itself
 * has is known only here.
 */
export async function resolveMounts(mounts: readonly Mount[], address: EngineAddress): Promise<Mount[]> {
  if (mounts.length === 0) return [];
  const checked = mounts.map(checkMount);
  if (address.kind !== 'unix') {
    refuseUncovered(checked, usualEngineSockets);
    return checked;
  }
  const resolved = await Promise.all(checked.map(resolvedMount));
  refuseUncovered(resolved, await presentEngineSockets([address.path]));
  return resolved;
}

function refuseUncovered(mounts: readonly Mount[], sockets: readonly string[]): void {
  for (const mount of mounts) {
    for (const socket of sockets) {
      const way = pathBelow(mount.source, socket);
      const isCovered = way !== '' && mounts.some(({ target }) => target === posix.join(mount.target, way ?? ''));
      if (way !== undefined && !isCovered) throw refusedSocket(mount);
    }
  }
}

/** The check that needs no disk, for an engine whose disk is another one. */
export function checkMount(mount: Mount): Mount {
  const normal = normalMount(mount, reserved);
  if (/\.sock$/.test(normal.source) && isEngineSocketName(normal.source)) throw refusedSocket(mount);
  return normal;
}
