import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { guestBash, hostBash } from '../../lib/guest-files.ts';
import { started } from '../../lib/started.ts';
import { bash, give, planStage, shareRunDirectory, stageDescriptor, terminated } from '../namespaces/stage.ts';
import { standardPath } from '../programs.ts';
import * as told from './arguments.ts';
import { seccompProfile } from './seccomp.ts';

/** See `host-scripts/tied.bash`. */
const tieDescriptor = 3;

/** The process of Apptainer with standard streams, first in a process group of its own. It is killed when this program dies. */
export type Tied = ChildProcess & { pid: number };

export interface Launch {
  /** The program Apptainer. */
  program: string;
  view: told.View;
  resolver: string;
  /** What is to run inside, as arguments of `guest/singularity-gate.bash`. */
  inside: readonly string[];
  /** The host user that the sandbox is; undefined: the one that we are. */
  user: number | undefined;
}

/** Starts Apptainer for the container of a sandbox. */
export async function launchContainer({ program, view, resolver, inside, user }: Launch): Promise<Tied> {
  const numbers = user === undefined ? [process.getuid?.() ?? 0, process.getgid?.() ?? 0] : [user, user];
  const guise = told.guise(numbers[0] ?? 0, numbers[1] ?? 0, resolver);
  await prepare(view, guise, user);
  const gate = [...bash, await guestBash('singularity-gate'), 'sandbox', ...inside];
  // Security: three user namespaces. Root of the outer one can open sockets in the sandbox, and the process that ties it stays there; the second one
  // takes root away again; the third is Apptainer's, and none can be made in it.
  const outer = ['unshare', '--user', '--map-root-user', '--', ...bash, await hostBash('limit-user-namespaces'), 'singularity', '2'];
  const commandFor = (seen: told.View): string[] => [
    ...['unshare', '--user', `--map-user=${numbers[0]}`, `--map-group=${numbers[1]}`, '--'],
    ...[program, ...told.apptainerArguments(seen, Object.keys(guise)), ...gate],
  ];
  if (user === undefined) return await spawnTied(commandFor(view), { before: outer });
  const { runDirectory, workspace, home, temporary, overlay, image, mounts } = view;
  const sources = [runDirectory, workspace, home, temporary, overlay, image, ...mounts.map((mount) => mount.source)];
  const seenAt = ([run = '', work = '', ownHome = '', ownTemporary = '', ownOverlay, root = '', ...shown]: Places): told.View => ({
    ...{ runDirectory: run, workspace: work, home: ownHome, temporary: ownTemporary, overlay: ownOverlay, image: root },
    mounts: mounts.map((mount, index) => ({ ...mount, source: shown[index] ?? '' })),
  });
  return await spawnStaged({ user, sources, accounts: join(runDirectory, told.guiseDirectory) }, (places) => commandFor(seenAt(places)), {
    before: outer,
  });
}

type Places = readonly (string | undefined)[];

interface Staging {
  /** The host user to become. */
  user: number;
  /** Directories and files of root that it is to reach. */
  sources: Places;
  /** The directory of a passwd and a group with this user: Apptainer insists on an account. */
  accounts: string;
}

/** A tied program as another user, made of where that one finds the sources. */
export async function spawnStaged(
  { user, sources, accounts }: Staging,
  commandFor: (places: Places) => readonly string[],
  { before = [], env }: Around = {},
): Promise<Tied> {
  const covers = { '/etc/passwd': join(accounts, 'passwd'), '/etc/group': join(accounts, 'group') };
  const { words, places } = await planStage(user, sources, [], covers);
  const staged = ['unshare', '--mount', '--propagation', 'slave', '--', ...bash, await hostBash('sandbox-stage'), 'sandbox'];
  const child = await spawnTied(commandFor(places), { before: [...staged, ...before], ...(env && { env }) });
  const stream = (child.stdio as unknown as Duplex[])[stageDescriptor] as Duplex;
  stream.on('error', () => undefined).end(terminated(words));
  return child;
}

interface Around {
  /** Programs that become what follows them. */
  before?: readonly string[];
  env?: Readonly<Record<string, string>>;
}

export async function spawnTied(command: readonly string[], { before = [], env = {} }: Around = {}): Promise<Tied> {
  const [file = '', ...rest] = [...before, ...bash, await hostBash('tied'), 'tied', ...command];
  const child = started(
    spawn(file, rest, {
      stdio: Array.from({ length: stageDescriptor + 1 }, (_, at) => (at <= tieDescriptor || at === stageDescriptor ? 'pipe' : 'ignore')),
      // Security: nothing of ours. Apptainer puts APPTAINERENV_… and the like into containers.
      env: { PATH: standardPath, HOME: '/nonexistent', ...env },
      cwd: '/',
      // A process group of its own: Ctrl-C at the terminal is for the product to handle.
      detached: true,
    }),
  );
  const tie = child.stdio[tieDescriptor] as unknown as Duplex;
  tie.on('error', () => undefined);
  child.once('exit', () => tie.destroy());
  return child;
}

/** Makes the files that the sandbox sees in the place of the host's, and the directories of its temporary files. */
async function prepare(view: told.View, guise: Readonly<Record<string, string>>, user: number | undefined): Promise<void> {
  const { runDirectory, workspace, home, temporary, overlay } = view;
  await mkdir(join(runDirectory, told.guiseDirectory), { recursive: true, mode: 0o755 });
  await mkdir(temporary, { recursive: true });
  await chmod(temporary, 0o755);
  for (const name of Object.keys(told.temporaryDirectories)) {
    await mkdir(join(temporary, name), { recursive: true });
    await chmod(join(temporary, name), 0o1777);
  }
  if (overlay !== undefined) await mkdir(overlay, { recursive: true, mode: 0o700 });
  const files = Object.entries(guise).map(([path, text]) => [guisePath(runDirectory, path), text] as const);
  for (const [path, text] of [...files, [join(runDirectory, told.seccompFile), seccompProfile()] as const]) {
    await writeFile(path, text);
    await chmod(path, 0o644);
  }
  if (user === undefined) return;
  await Promise.all([workspace, home, ...(overlay === undefined ? [] : [overlay])].map((directory) => give(directory, user)));
  await shareRunDirectory(runDirectory, user);
}

function guisePath(runDirectory: string, inside: string): string {
  return join(runDirectory, told.guiseDirectory, told.guiseName(inside));
}
