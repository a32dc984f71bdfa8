import { HermeticError } from '../../core/errors.ts';
import { volumesOf } from '../volume-names.ts';
import type { ContainerBody } from './container.ts';
import type { Engine } from './engine.ts';
import { runContainer } from './launch.ts';

/** But for those that are `kept`. */
export async function removeVolumes(engine: Engine, sandbox: string, kept: readonly string[] = []): Promise<void> {
  for (const volume of Object.values(volumesOf(sandbox))) if (!kept.includes(volume)) await engine.removeVolume(volume);
}

/** The names of sandboxes that have volumes. */
export async function sandboxesWithVolumes(engine: Engine, installation: string): Promise<Set<string>> {
  if (!hasVolumes(engine)) return new Set();
  const found = await engine.volumes({ 'hermetic.installation': installation });
  return new Set(found.flatMap(({ labels }) => labels['hermetic.name'] ?? []));
}

/** An engine behind a port or ssh has directories of its own. */
export function hasVolumes({ address }: Engine): boolean {
  return address.kind !== 'unix';
}

/** A new volume belongs to root. Gives those of a container that is not made yet to the user it will have. */
export async function giveVolumes(engine: Engine, { Image, Labels, User, HostConfig }: ContainerBody): Promise<void> {
  const volumes = HostConfig.Mounts.filter(({ Type }) => Type === 'volume');
  if (User.startsWith('0:') || volumes.length === 0) return;
  const { exitCode, reason } = await runContainer(engine, 'give', {
    Image,
    Entrypoint: ['chown', '--', User, ...volumes.map(({ Target }) => Target)],
    Cmd: [],
    User: '0:0',
    Labels: { 'hermetic.installation': Labels['hermetic.installation'] ?? '', 'hermetic.probe': 'true' },
    // Security: no other right than the one it is for.
    HostConfig: { NetworkMode: 'none', CapDrop: ['ALL'], CapAdd: ['CHOWN'], SecurityOpt: ['no-new-privileges'], Mounts: volumes },
  });
  if (exitCode !== 0) throw new HermeticError('sandbox/open-failed', `The sandbox's files cannot be given to its user: ${reason}.`);
}
