import { removeTree } from '../sandbox-directory.ts';
import type { ContainerBody } from './container.ts';
import type { Engine } from './engine.ts';
import { runContainer } from './launch.ts';

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
  await runContainer(engine, 'remove', body);
  await removeTree(directory);
}
