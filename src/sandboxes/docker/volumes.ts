import { HermeticError } from '../../core/errors.ts';
import { homeInside, workspaceInside } from './container.ts';
import type { Engine } from './engine.ts';
import { openExec } from './exec-stream.ts';
import { exitCodeOf } from './transport.ts';

/** Volumes that stand in for the workspace and the home of a sandbox where the engine does not see the directories of this machine. */
export interface Volumes {
  workspace: string;
  home: string;
}

export function volumesOf(sandbox: string): Volumes {
  return { workspace: `hermetic-${sandbox}-workspace`, home: `hermetic-${sandbox}-home` };
}

export async function removeVolumes(engine: Engine, sandbox: string): Promise<void> {
  for (const volume of Object.values(volumesOf(sandbox))) await engine.removeVolume(volume);
}

/** An engine behind a port has directories of its own. */
export function hasVolumes({ address }: Engine): boolean {
  return address.kind === 'tcp';
}

/** A new volume belongs to root. Gives those of a container to the host's user. When this throws, the container is gone. */
export async function giveVolumes(engine: Engine, container: string, owner: string): Promise<void> {
  const command = ['chown', '--', owner, workspaceInside, homeInside('host')];
  try {
    const exec = await openExec(engine, container, { command, user: '0:0' });
    let said = '';
    for await (const chunk of exec.stderr) said += String(chunk);
    const code = await exitCodeOf(exec);
    if (code !== 0) throw new HermeticError('sandbox/open-failed', `The files of the sandbox cannot be given to its user: ${said.trim()}`);
  } catch (error) {
    await engine.remove(container);
    throw error;
  }
}
