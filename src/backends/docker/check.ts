import { HermeticError } from '../../core/errors.ts';
import type { Check } from '../../core/sandbox.ts';
import { failedCheck } from '../failed-check.ts';
import type { ContainerBody } from './container.ts';
import type { Engine } from './engine.ts';
import { findImage, refuseUnlessPullable } from './image.ts';
import { runContainer } from './launch.ts';
import { limitEnforcement } from './limits.ts';
import { storageSupport } from './storage.ts';

/** A check ends also with an engine that has stopped answering. */
const timeoutMs = 5000;

/** Runs `true` in a container of this image. One that is not there must be one that could be pulled. Never throws. */
export async function checkDocker(find: () => Promise<Engine>, image: string, installation: string, runtime?: string): Promise<Check> {
  try {
    const engine = await find();
    const info = await engine.info({ timeoutMs });
    const summary = `engine ${info.ServerVersion} at ${engine.where}, image ${image}`;
    const found = await findImage(engine, image);
    if (!found) {
      await refuseUnlessPullable(engine, image);
      const limits = limitEnforcement(info, { enforced: false, how: 'unknown until the image is there' });
      return { usable: true, summary, limits, notes: [`The image ${image} is not there yet; it is pulled on first use.`] };
    }
    const storage = await storageSupport(engine, info, found.id, 1024);
    await runTrue(engine, found.id, installation, runtime);
    return { usable: true, summary, limits: limitEnforcement(info, storage), notes: [] };
  } catch (error) {
    return failedCheck(error, 'See the log of the engine.');
  }
}

async function runTrue(engine: Engine, image: string, installation: string, runtime: string | undefined): Promise<void> {
  const body = {
    Image: image,
    Entrypoint: ['true'],
    Labels: { 'hermetic.installation': installation, 'hermetic.probe': 'true' },
    HostConfig: { NetworkMode: 'none', CapDrop: ['ALL'], ...(runtime && { Runtime: runtime }) },
  } as unknown as ContainerBody;
  const { exitCode, reason } = await runContainer(engine, 'probe', body);
  if (exitCode !== 0) throw new HermeticError('backend/unavailable', `A container started, but the program true failed in it: ${reason}`);
}
