import { realpath } from 'node:fs/promises';
import { join, normalize } from 'node:path/posix';
import { pathBelow, presentEngineSockets } from '../backends/engine-sockets.ts';
import { refusedMount, resolvedMount } from '../backends/mounts.ts';
import { receivedInside } from '../backends/received-files.ts';
import type { Mount } from '../core/sandbox.ts';
import { guestPath } from '../lib/guest-files.ts';

export interface MountRules {
  /** Places that only the host may have, such as Hermetic's own home, with the reason. */
  forbidden: Readonly<Record<string, string>>;
  allowDangerous: boolean;
  /** Where this machine has sockets of container engines, besides the usual places. */
  engineSockets: readonly string[];
}

/** Writing here, and often reading, gives control of the host. Some places are dangerous as a whole, others with all they contain. */
const wholePlaces: Readonly<Record<string, string>> = {
  '/': 'it is the whole host',
  '/etc': 'it holds the accounts of the host',
  '/run': 'it holds the sockets of the host',
  '/var': 'it holds the services of the host',
  '/home': 'it holds the files of all users',
};
const deepPlaces: Readonly<Record<string, string>> = {
  '/etc/shadow': 'it holds the passwords of the host',
  '/etc/ssh': 'it holds the keys of the host',
  '/etc/sudoers': 'it says who is root on the host',
  '/etc/sudoers.d': 'it says who is root on the host',
  '/proc': 'it shows and controls the processes of the host',
  '/sys': 'it controls the kernel of the host',
  '/dev': 'it holds the devices of the host',
  '/boot': 'it holds the kernel of the host',
  '/run/dbus': 'its socket starts programs on the host',
  '/run/systemd': 'its sockets start programs on the host',
  '/run/user': 'its sockets start programs of the people on the host',
  '/var/lib/docker': 'it holds the containers of the host',
};
const oneOfThese = 'Mount a directory without it, or set terminal.allow_dangerous_mounts if you mean it.';

/**
 * The mounts with their sources resolved. Refuses a source that does not exist, and one that would hand over the host:
 * a forbidden place, anything inside it, and anything that contains it. `allowDangerous` lets all of these in except the socket of
 * a container engine; those inside a directory are covered by a file that says so.
 */
export async function checkedMounts(mounts: readonly Mount[], rules: MountRules): Promise<Mount[]> {
  const whole = await resolved(wholePlaces);
  const deep = await resolved({ ...deepPlaces, ...rules.forbidden });
  const checked = await Promise.all(
    mounts.map(async (mount) => {
      if (pathBelow(receivedInside, normalize(mount.target)) !== undefined) {
        throw refusedMount(mount, `${receivedInside} is where files that people send are`, 'Choose another place inside.');
      }
      const resolvedTo = await resolvedMount(mount);
      const why = rules.allowDangerous ? undefined : danger(resolvedTo.source, whole, deep);
      if (why !== undefined) throw refusedMount(mount, why, oneOfThese);
      return [resolvedTo, ...(await coversIn(resolvedTo, rules.engineSockets))];
    }),
  );
  return checked.flat();
}

/** Security: a read-only mount does not stop a connection, so every engine socket below a mounted directory is hidden by a mount over it. */
async function coversIn({ source, target }: Mount, engineSockets: readonly string[]): Promise<Mount[]> {
  const below = (await presentEngineSockets(engineSockets)).map((socket) => pathBelow(source, socket)).filter((path) => path !== undefined);
  return below.map((path) => ({ source: guestPath('hidden-socket.txt'), target: join(target, path), readOnly: true }));
}

function danger(source: string, whole: ReadonlyMap<string, string>, deep: ReadonlyMap<string, string>): string | undefined {
  if (whole.has(source)) return whole.get(source);
  for (const [place, why] of deep) {
    if (source === place || isInside(source, place)) return why;
    if (isInside(place, source)) return `it contains ${place}, and ${why}`;
  }
  return undefined;
}

function isInside(path: string, directory: string): boolean {
  return path.startsWith(`${directory}/`);
}

async function resolved(places: Readonly<Record<string, string>>): Promise<Map<string, string>> {
  const entries = Object.entries(places).map(async ([place, why]) => [await realpath(place).catch(() => place), why] as const);
  return new Map(await Promise.all(entries));
}
