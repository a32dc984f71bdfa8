import type { ListedSandbox } from '../../core/sandbox.ts';
import type { ContainerSummary, Engine } from './engine.ts';
import { removeFromNetwork } from './network.ts';
import { hasLeft } from './stop.ts';
import { removeVolumes } from './volumes.ts';

interface Orphan {
  engine: Engine;
  installation: string;
  name: string;
  /** It has volumes. Files that are not in volumes are in the directory, wherever that is. */
  hasFiles: boolean;
  /** undefined where only the volumes are left. */
  container: ContainerSummary | undefined;
}

/** The container and the volumes of a session whose directory or record is not here, or of a program that died. */
export function orphanSandbox({ engine, installation, name, hasFiles, container }: Orphan): ListedSandbox {
  const { id, labels, running = false, image, createdAt = new Date() } = container ?? {};
  return {
    name,
    session: labels?.['hermetic.session'] ?? '',
    state: running ? 'running' : 'stopped',
    image,
    createdAt,
    directory: '',
    hasFiles,
    stop: async (force) => {
      if (id === undefined) return true;
      if (!force && running && (await hasLeft(engine, id, undefined))) return false;
      await engine.kill(id);
      return true;
    },
    destroy: async () => {
      if (id !== undefined) await removeFromNetwork(engine, id, installation);
      if (hasFiles) await removeVolumes(engine, name);
    },
  };
}
