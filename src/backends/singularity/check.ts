import { once } from 'node:events';
import { mkdir, mkdtemp, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HermeticError } from '../../core/errors.ts';
import { within } from '../../lib/deadline.ts';
import { probeInstallation, probeName } from '../namespaces/enforcement-here.ts';
import { pathsIn, removeTree } from '../sandbox-directory.ts';
import { startSingularity } from './start.ts';

/** For a program that does nothing. */
const endTimeoutMs = 20_000;
const noLimits = { cpus: 0, memoryMb: 0, diskMb: 0, pids: 0 };

/** Runs `true` in a throw-away sandbox of this image, or where it is not there yet, of the programs of this machine. Rejects with the reason. */
export async function probe(program: string, image: string | undefined, hasOverlay: boolean): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'hermetic-probe-'));
  try {
    const { run, workspace, home, temporary } = pathsIn(directory);
    for (const path of [run, workspace, home]) await mkdir(path);
    const view = {
      ...{ runDirectory: run, workspace, home, temporary, overlay: hasOverlay ? join(directory, 'overlay') : undefined },
      image: image ?? (await standIn(join(directory, 'root'))),
      mounts: image === undefined ? [{ source: '/usr', target: '/programs', readOnly: true }] : [],
    };
    const name = probeName();
    const options = {
      program,
      name,
      installation: probeInstallation,
      view,
      env: {},
      limits: noLimits,
      network: 'none' as const,
      command: ['true'],
    };
    const { child, release } = await startSingularity(options);
    const isOver = child.exitCode !== null || child.signalCode !== null;
    const ended = isOver ? Promise.resolve([child.exitCode, child.signalCode]) : once(child, 'exit');
    const [code, signal] = await within(endTimeoutMs, ended, () => {
      child.kill('SIGKILL');
      return ended;
    });
    await release();
    if (code === 0) return;
    const how = `A container started, but the program true ended in it with ${signal ?? `code ${code}`}.`;
    throw new HermeticError('backend/unavailable', how);
  } finally {
    await removeTree(directory);
  }
}

/** An image that has nothing but places for the programs of this machine. */
async function standIn(directory: string): Promise<string> {
  for (const name of ['etc', 'proc', 'dev', 'run', 'home', 'var']) await mkdir(join(directory, name), { recursive: true });
  await symlink('programs', join(directory, 'usr'));
  for (const name of ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32']) await symlink(`programs/${name}`, join(directory, name));
  return directory;
}
