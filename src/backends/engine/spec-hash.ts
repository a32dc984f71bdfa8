import { createHash } from 'node:crypto';
import type { SandboxSpec } from '../../core/sandbox.ts';

/** The inputs of a container besides its spec. */
export interface SpecExtras {
  installation: string;
  imageId: string;
  guestVersion: string;
  runDirectory?: string | undefined;
  workspace?: string | undefined;
  home?: string | undefined;
  received?: string | undefined;
  hostUser?: { uid: number; gid: number } | undefined;
  runtime?: string | undefined;
  storageLimited: boolean;
  extraArgs?: readonly string[] | undefined;
}

/**
 * Equal for two containers that may stand in for each other. How a session is called, where it starts and how long it may idle does not matter.
 * Security: the result is a label that every user of the engine can read. Values of variables go in through a hash bound to this installation.
 */
export function specHash(spec: SandboxSpec, extras: SpecExtras): string {
  const env = Object.entries(spec.env)
    .map(([name, value]) => [name, digest(JSON.stringify([extras.installation, name, value]))])
    .sort();
  const mounts = spec.mounts.map((mount) => [mount.target, mount.source, mount.readOnly]).sort();
  return digest(
    JSON.stringify([
      3,
      extras.imageId,
      extras.guestVersion,
      env,
      mounts,
      [spec.limits.cpus, spec.limits.memoryMb, spec.limits.diskMb, spec.limits.pids],
      spec.network ?? 'open',
      spec.persistent,
      spec.user === 'host' ? (extras.hostUser ?? null) && [extras.hostUser?.uid, extras.hostUser?.gid] : 'default',
      extras.runDirectory ?? null,
      extras.workspace ?? null,
      extras.home ?? null,
      extras.received ?? null,
      extras.runtime ?? null,
      extras.storageLimited,
      extras.extraArgs ?? [],
    ]),
  );
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
