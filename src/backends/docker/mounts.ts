import { realpath, stat } from 'node:fs/promises';
import { posix } from 'node:path';
import { HermeticError } from '../../core/errors.ts';
import type { Mount } from '../../core/sandbox.ts';
import { isEngineSocketName, pathBelow, presentEngineSockets, usualEngineSockets } from '../engine-sockets.ts';
import type { EngineAddress } from './connection.ts';
import { errnoOf } from './engine-errors.ts';

const key = 'terminal.docker_volumes';
/**
 * The mounts with their sources resolved to what they really are, refused where that is an engine's socket or does not exist.
 * Security: access to the engine's socket is access to the host, and a read-only mount does not stop a connection. A directory that contains one is
 * refused, unless another of the mounts covers the socket.
 */
export async function resolveMounts(mounts: readonly Mount[], address: EngineAddress): Promise<Mount[]> {
  const checked = mounts.map(checkMount);
  if (address.kind === 'tcp') {
    refuseUncovered(checked, usualEngineSockets);
    return checked;
  }
  const resolved = await Promise.all(checked.map(resolveSource));
  refuseUncovered(resolved, await presentEngineSockets([address.path]));
  return resolved;
}

async function resolveSource(mount: Mount): Promise<Mount> {
  let source: string;
  let isSocket: boolean;
  try {
    source = await realpath(mount.source);
    isSocket = (await stat(source)).isSocket();
  } catch (error) {
    if (errnoOf(error) === undefined) {
      throw error;
    }
    throw bad(`${mount.source} cannot be mounted: ${errnoOf(error) === 'ENOENT' ? 'it does not exist' : errnoOf(error)}.`);
  }
  if (isSocket && isEngineSocketName(source)) {
    throw engineSocket(mount.source);
  }
  return { ...mount, source };
}

function refuseUncovered(mounts: readonly Mount[], sockets: readonly string[]): void {
  for (const { source, target } of mounts) {
    for (const socket of sockets) {
      const way = pathBelow(source, socket);
      if (way === '' || (way !== undefined && !mounts.some((other) => other.target === posix.join(target, way)))) {
        throw engineSocket(source);
      }
    }
  }
}

/** Checks a mount without looking at the disk. Throws, or returns it with a normalized target. */
export function checkMount(mount: Mount): Mount {
  const source = normal(mount.source);
  const target = normal(mount.target);
  if (!source.startsWith('/') || !target.startsWith('/')) {
    throw bad(`${mount.source}:${mount.target} must consist of absolute paths.`);
  }
  if (/\.sock$/.test(source) && isEngineSocketName(source)) {
    throw engineSocket(mount.source);
  }
  const inside = target.replace(/^\/var\/run(?=\/|$)/, '/run');
  // Security: the sandbox's own plumbing and the kernel's file systems are not to be replaced.
  if (inside === '/' || inside === '/run' || ['/proc', '/sys', '/dev', '/run/hermetic'].some((reserved) => contains(reserved, inside))) {
    throw bad(`Nothing can be mounted at ${mount.target}.`);
  }
  return { source, target, readOnly: mount.readOnly };
}

function contains(directory: string, path: string): boolean {
  return path === directory || path.startsWith(directory === '/' ? '/' : `${directory}/`);
}

function normal(path: string): string {
  const normalized = posix.normalize(path);
  return normalized.length > 1 ? normalized.replace(/\/+$/, '') : normalized;
}

function engineSocket(source: string): HermeticError {
  return bad(
    `${source} is or contains the socket of a container engine, which gives full control of this machine.`,
    'Mount a directory without it.',
  );
}

function bad(message: string, hint?: string): HermeticError {
  return new HermeticError('config/bad-value', `${key}: ${message}`, { hint });
}
