import { lstat, readlink } from 'node:fs/promises';
import { HermeticError } from '../../core/errors.ts';
import type { Mount } from '../../core/sandbox.ts';
import { normalPath, type ReservedTargets } from '../mounts.ts';
import { installInto } from '../namespaces/install-into.ts';
import { standardPath } from '../programs.ts';
import { sharedEtcArguments } from './etc.ts';

/** The host as bubblewrap sees it at the moment it starts. */
export interface View {
  /** Of these three, one that is undefined is empty and in memory. */
  runDirectory: string | undefined;
  workspace: string | undefined;
  home: string | undefined;
  mounts: readonly Mount[];
  /** The descriptor from which each file made up for /etc is read, by name. Read in this order: what follows waits for its end. */
  etcDescriptors: ReadonlyMap<string, number>;
  /** Where bubblewrap is to say which process is inside. */
  infoDescriptor: number | undefined;
  env: Readonly<Record<string, string>>;
  /** The limit for all processes together; 0 for none. */
  memoryBytes: number;
}

/** Options an older bubblewrap, or one in a container, may refuse. The sandbox holds without them. */
export const dispensable = ['--disable-userns', '--size', '--perms'] as const;
export type Dispensable = (typeof dispensable)[number];

/** Targets of mounts that would hide the parts a sandbox is made of. */
export const reservedTargets: ReservedTargets = {
  places: ['/', '/usr', '/etc', '/run', '/home', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'],
  trees: ['/proc', '/dev', '/sys', '/run/hermetic'],
};

export const workspaceInside = '/workspace';
export const homeInside = '/home/agent';

/** Everything bubblewrap is told except the command, for `--args`. */
export async function bubblewrapArguments(view: View, without: ReadonlySet<Dispensable>): Promise<string[]> {
  const optional = (option: Dispensable, ...values: string[]): string[] => (without.has(option) ? [] : [option, ...values]);
  const perms = (mode: string): string[] => optional('--perms', mode);
  // Temporary files are memory. Full before the limit is reached they say so; otherwise the kernel would kill some process for it.
  const size = (share: number): string[] => (view.memoryBytes > 0 ? optional('--size', String(Math.round(view.memoryBytes * share))) : []);
  const shown = (source: string | undefined, target: string, readOnly: boolean): string[] =>
    source === undefined ? ['--tmpfs', target] : [readOnly ? '--ro-bind' : '--bind', source, target];
  const places = [
    { source: view.workspace, target: workspaceInside, readOnly: false },
    { source: view.home, target: homeInside, readOnly: false },
    ...view.mounts,
  ];
  const home = view.env.HOME ?? homeInside;
  const environment = {
    // Security: last, so that nothing the session installs takes the place of a program that our own commands use.
    PATH: `${standardPath}:${home}/.local/bin`,
    ...installInto(`${home}/.local`),
    HOME: home,
    USER: 'agent',
    LOGNAME: 'agent',
    SHELL: '/bin/bash',
    LANG: 'C.UTF-8',
    ...view.env,
  };
  const all = [
    ...['--unshare-all', '--unshare-user', ...optional('--disable-userns'), '--uid', '1000', '--gid', '1000', '--hostname', 'sandbox'],
    ...['--die-with-parent', '--new-session', '--clearenv'],
    ...Object.entries(environment).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--ro-bind', '/usr', '/usr'],
    ...(await rootLinks()),
    ...sharedEtcArguments(),
    ...['--proc', '/proc', '--dev', '/dev', ...perms('1777'), ...size(1 / 4), '--tmpfs', '/dev/shm', '--remount-ro', '/dev'],
    ...[...perms('1777'), ...size(1 / 2), '--tmpfs', '/tmp', '--dir', '/var', '--symlink', '../tmp', '/var/tmp'],
    ...[...optional('--size', String(16 * 1024 * 1024)), '--tmpfs', '/run', '--symlink', '/run', '/var/run'],
    // Security: read-only, so that a pipe in it can be written but not replaced by a link for the host to follow.
    ...shown(view.runDirectory, '/run/hermetic', true),
    // Late, because the host may hold one of them back until the network is there, while the rest need not wait.
    ...[...view.etcDescriptors].flatMap(([name, at]) => [...perms('0644'), '--file', String(at), `/etc/${name}`]),
    // A mount below another must come after it; of two at the same place the later one, the user's, is seen.
    ...places
      .map((place) => ({ ...place, target: normalPath(place.target) }))
      .sort((a, b) => (a.target === b.target ? 0 : a.target < b.target ? -1 : 1))
      .flatMap(({ source, target, readOnly }) => shown(source, target, readOnly)),
    ...['--remount-ro', '/', '--chdir', workspaceInside],
    // Security: the last one. The network joins that process and relies on every option before it, and the list may end early if we are killed.
    ...(view.infoDescriptor === undefined ? [] : ['--info-fd', String(view.infoDescriptor)]),
  ];
  // Security: the list is separated by NUL bytes, so one in a value would smuggle in further options.
  if (all.some((text) => text.includes('\0'))) {
    throw new HermeticError('sandbox/open-failed', 'A path or an environment variable of the sandbox contains a NUL byte.');
  }
  return all;
}

/** /bin, /lib and the like as the host has them: links into /usr, or directories of their own. */
async function rootLinks(): Promise<string[]> {
  const links = await Promise.all(
    ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'].map(async (path) => {
      const status = await lstat(path).catch(() => undefined);
      if (status?.isSymbolicLink()) return ['--symlink', await readlink(path), path];
      return status?.isDirectory() ? ['--ro-bind', path, path] : [];
    }),
  );
  return links.flat();
}
