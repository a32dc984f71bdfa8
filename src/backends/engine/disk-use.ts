import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DiskUse } from '../../core/sandbox.ts';
import { diskUseOf } from '../disk-use.ts';
import { volumesOf } from '../volume-names.ts';
import { groupsOf } from './container-counts.ts';
import type { Engine } from './engine.ts';
import { hasVolumes } from './volumes.ts';

/**
 * The session's files, what was written in the container beside them, and what its processes hold that was deleted. Behind a port, and where
 * this program may not see the engine's directories and processes, the engine is asked, which counts bytes of files that have a name.
 */
export async function containerDiskUse(engine: Engine, sandbox: string, directory: string): Promise<DiskUse> {
  const container = `hermetic-${sandbox}`;
  const found = await engine.inspect(container);
  const layer = hasVolumes(engine) ? undefined : await readable(found?.layerDirectory);
  const processes = found?.running ? await processesOf(found.pid, found.id) : [];
  const [seen, layerBytes, volumeBytes] = await Promise.all([
    diskUseOf(layer === undefined ? [directory] : [directory, layer], processes),
    layer === undefined ? engine.layerBytes(container) : 0,
    hasVolumes(engine) ? engine.volumeBytes(Object.values(volumesOf(sandbox))) : 0,
  ]);
  return { ...seen, bytes: seen.bytes + layerBytes + volumeBytes };
}

async function readable(directory: string | undefined): Promise<string | undefined> {
  if (directory === undefined) return undefined;
  return await access(directory).then(
    () => directory,
    () => undefined,
  );
}

/** Every process of its control group: also those that an engine started in it later, which descend from none of its own. */
async function processesOf(pid: number, id: string): Promise<number[]> {
  const [group] = await groupsOf(pid, id);
  const text = group === undefined ? '' : await readFile(join(group, 'cgroup.procs'), 'utf8').catch(() => '');
  return (text.match(/\d+/g) ?? []).map(Number).filter((process) => process > 0);
}
