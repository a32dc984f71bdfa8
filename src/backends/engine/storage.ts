import { refusedStatus } from '../refusal.ts';
import type { Engine, EngineInfo } from './engine.ts';

export interface StorageSupport {
  enforced: boolean;
  /** A sentence part: how, or why not. */
  how: string;
}

/** Drivers whose `size` is known to be a quota. An engine may accept the option on others and do nothing with it. */
const quotaDrivers: Readonly<Record<string, string>> = {
  overlay2: 'project quota of xfs',
  vfs: 'project quota of xfs',
  btrfs: 'btrfs quota group',
  zfs: 'zfs quota',
};

const answers = new WeakMap<Engine, Promise<StorageSupport>>();

/**
 * Whether a container's own file system can be limited, found out once per engine by making a container of this image that never starts.
 * Mounts of a container lie on the host and are not counted.
 */
export function storageSupport(engine: Engine, info: EngineInfo, image: string, diskMb: number): Promise<StorageSupport> {
  let answer = answers.get(engine);
  if (!answer) {
    answer = probe(engine, info, image, diskMb);
    answers.set(engine, answer);
    answer.catch(() => answers.delete(engine));
  }
  return answer;
}

async function probe(engine: Engine, info: EngineInfo, image: string, diskMb: number): Promise<StorageSupport> {
  // Libpod accepts a size also where it does nothing with it.
  if (await engine.isLibpod()) return { enforced: false, how: 'the size of its containers is not limited by podman' };
  const { Driver: driver, DriverStatus: status } = info;
  const mechanism = quotaDrivers[driver];
  if (mechanism === undefined) {
    return { enforced: false, how: `the storage driver ${driver} has no size limit` };
  }
  const backing = status?.find(([key]) => key === 'Backing Filesystem')?.[1] ?? 'its file system';
  const unsupported = {
    enforced: false,
    how: `the storage driver ${driver} on ${backing} has no size limit; it needs xfs mounted with pquota, btrfs or zfs`,
  };
  // Only xfs can; on anything else there is nothing to find out.
  if (driver === 'overlay2' && backing !== 'xfs') {
    return unsupported;
  }
  const name = `hermetic-storage-probe-${crypto.randomUUID().slice(0, 8)}`;
  try {
    // The size that will be asked for: some drivers count the image in, and refuse a size it does not fit into.
    const body = {
      Image: image,
      Entrypoint: ['/bin/true'],
      Labels: { 'hermetic.probe': 'storage' },
      HostConfig: { StorageOpt: { size: `${diskMb}m` } },
    };
    await engine.remove(await engine.createContainer(name, body));
    return { enforced: true, how: `${mechanism} on everything but mounted directories` };
  } catch (error) {
    const refused = refusedStatus(error);
    if (refused === undefined || refused === 404) {
      throw error;
    }
    return unsupported;
  }
}
