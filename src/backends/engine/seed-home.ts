import { readdir } from 'node:fs/promises';
import { HermeticError } from '../../core/errors.ts';
import { type ContainerBody, homeOfRoot } from './container.ts';
import type { Engine } from './engine.ts';
import { runContainer } from './launch.ts';

const seedInside = '/run/seed';

/** Fills the home of a container that is not made yet with what its image has there, as long as it is empty. For an engine that does not. */
export async function seedHome(engine: Engine, { Image, Labels, HostConfig }: ContainerBody): Promise<void> {
  const home = HostConfig.Mounts.find(({ Type, Target, ReadOnly }) => Type === 'bind' && Target === homeOfRoot && !ReadOnly);
  if (home?.Source === undefined || (await readdir(home.Source)).length > 0) return;
  const { exitCode, reason } = await runContainer(engine, 'seed', {
    Image,
    Entrypoint: ['cp', '-a', '--', `${homeOfRoot}/.`, seedInside],
    Cmd: [],
    User: '0:0',
    Labels: { 'hermetic.installation': Labels['hermetic.installation'] ?? '', 'hermetic.probe': 'true' },
    // Security: no other right than to copy files with their owners.
    HostConfig: {
      NetworkMode: 'none',
      CapDrop: ['ALL'],
      CapAdd: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER'],
      SecurityOpt: ['no-new-privileges'],
      Mounts: [{ ...home, Target: seedInside }],
    },
  });
  if (exitCode !== 0) throw new HermeticError('sandbox/open-failed', `The home of the image cannot be copied: ${reason}.`);
}
