import { randomUUID } from 'node:crypto';
import { removeTree } from '../sandbox-directory.ts';
import type { ContainerBody } from './container.ts';
import type { Engine } from './engine.ts';
import { launchContainer } from './launch.ts';

/** Removes a sandbox's directory in which root of the container left files that this user may not touch: a container may. */
export async function removeForeignFiles(engine: Engine, image: string, directory: string): Promise<void> {
  const body = {
    Image: image,
    Entrypoint: ['find', '/sandbox', '-mindepth', '1', '-delete'],
    User: '0:0',
    HostConfig: {
      NetworkMode: 'none',
      CapDrop: ['ALL'],
      CapAdd: ['DAC_OVERRIDE', 'FOWNER'],
      SecurityOpt: ['no-new-privileges'],
      Mounts: [{ Type: 'bind', Source: directory, Target: '/sandbox', ReadOnly: false }],
    },
  } as unknown as ContainerBody;
  const id = await launchContainer(engine, `hermetic-remove-${randomUUID().slice(0, 8)}`, body);
  try {
    await engine.wait(id);
  } finally {
    await engine.remove(id);
  }
  await removeTree(directory);
}
