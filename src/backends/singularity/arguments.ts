import { HermeticError } from '../../core/errors.ts';
import type { Mount } from '../../core/sandbox.ts';
import type { ReservedTargets } from '../mounts.ts';

export const workspaceInside = '/workspace';
export const homeInside = '/home/agent';
export const runInside = '/run/hermetic';

/** Targets of mounts that would hide the parts a sandbox is made of. */
export const reservedTargets: ReservedTargets = {
  places: ['/', '/usr', '/etc', '/run', '/home', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/tmp', '/var', '/var/tmp'],
  trees: ['/proc', '/dev', '/sys', runInside, '/.singularity.d'],
};

/** The host as Apptainer sees it at the moment it starts. */
export interface View {
  image: string;
  runDirectory: string;
  workspace: string;
  home: string;
  /** Holds the temporary directories. Its own, and gone when the sandbox ends. */
  temporary: string;
  /** undefined: the image is read-only. */
  overlay: string | undefined;
  mounts: readonly Mount[];
}

/** Files made up for the sandbox, below the run directory. */
export const guiseDirectory = 'guise';
export const seccompFile = 'seccomp.json';
/** On the disk, so that they count as disk space of the sandbox. */
export const temporaryDirectories: Readonly<Record<string, string>> = { tmp: '/tmp', var: '/var/tmp' };

/** The content of those files, by path inside. */
export function guise(user: number, group: number, resolver: string): Readonly<Record<string, string>> {
  const passwd = [
    ...(user === 0 ? [] : ['root:x:0:0:root:/nonexistent:/usr/sbin/nologin']),
    `agent:x:${user}:${group}:agent:${homeInside}:/bin/bash`,
    ...(user === 65534 ? [] : ['nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin']),
  ];
  return {
    '/etc/passwd': `${passwd.join('\n')}\n`,
    '/etc/group': `root:x:0:\nagent:x:${group}:\nnogroup:x:65534:\n`,
    '/etc/hosts': '127.0.0.1 localhost sandbox\n::1 localhost ip6-localhost ip6-loopback\n',
    '/etc/hostname': 'sandbox\n',
    '/etc/resolv.conf': resolver,
  };
}

/** The name of such a file below its directory. */
export function guiseName(inside: string): string {
  return inside.slice('/etc/'.length);
}

/** Everything Apptainer is told, up to the command. */
export function apptainerArguments(view: View, guised: readonly string[]): string[] {
  const { image, runDirectory, workspace, home, temporary, overlay, mounts } = view;
  const all: Mount[] = [
    ...guised.map((target) => ({ source: `${runDirectory}/${guiseDirectory}/${guiseName(target)}`, target, readOnly: true })),
    ...Object.entries(temporaryDirectories).map(([name, target]) => ({ source: `${temporary}/${name}`, target, readOnly: false })),
    { source: runDirectory, target: runInside, readOnly: true },
    { source: workspace, target: workspaceInside, readOnly: false },
    { source: home, target: homeInside, readOnly: false },
    ...mounts,
  ];
  return [
    // Only errors: what it says is read when it fails.
    ...['--silent', 'exec', '--userns', '--containall', '--no-home', '--cleanenv', '--no-eval', '--no-umask', '--no-privs'],
    ...['--hostname', 'sandbox', '--net', '--network', 'none', '--pwd', '/'],
    // Security: also what the administrator's apptainer.conf mounts into every container.
    ...['--no-mount', 'sys,home,tmp,hostfs,cwd,bind-paths'],
    ...['--security', `seccomp:${runDirectory}/${seccompFile}`],
    // Security: nor devices and libraries of the host where the administrator always wants them in.
    ...['--no-nv', '--no-rocm'],
    // In memory, as elsewhere: what is there is of this run alone.
    ...['--scratch', '/run'],
    ...(overlay === undefined ? [] : ['--overlay', overlay]),
    ...all.flatMap((mount) => ['--mount', mountWord(mount)]),
    image,
  ];
}

/** In the words of `--mount`, which is a line of comma-separated values. Security: a path must not become two fields. */
function mountWord({ source, target, readOnly }: Mount): string {
  for (const path of [source, target]) {
    if (/[\n\r]/.test(path)) throw new HermeticError('sandbox/open-failed', `A path to mount contains the end of a line: ${path}`);
  }
  const fields = ['type=bind', `source=${source}`, `destination=${target}`, ...(readOnly ? ['ro'] : [])];
  return fields.map((field) => (/[",]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field)).join(',');
}
