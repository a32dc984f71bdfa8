import { chmodSync, existsSync, mkdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { sharedEtcArguments } from '../../../src/backends/bubblewrap/etc.ts';
import { amountOf, type FakeContainer, type FakeObject, podSpecOf } from './objects.ts';

/** A cluster gives them to every container. */
const serviceVariables = {
  KUBERNETES_SERVICE_HOST: '10.96.0.1',
  KUBERNETES_SERVICE_PORT: '443',
  KUBERNETES_SERVICE_PORT_HTTPS: '443',
  KUBERNETES_PORT: 'tcp://10.96.0.1:443',
  KUBERNETES_PORT_443_TCP: 'tcp://10.96.0.1:443',
  KUBERNETES_PORT_443_TCP_PROTO: 'tcp',
  KUBERNETES_PORT_443_TCP_PORT: '443',
  KUBERNETES_PORT_443_TCP_ADDR: '10.96.0.1',
};
const imageVariables = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8' };

export function variablesOf({ env = [] }: FakeContainer): Record<string, string> {
  return { ...imageVariables, ...serviceVariables, ...Object.fromEntries(env.map(({ name, value }) => [name, expand(value)])) };
}

/** As a kubelet does in commands and values: two dollars become one; none of our variables is ever meant. */
export function expand(text: string): string {
  return text.replace(/\$(\$|\([A-Za-z_]\w*\))/g, (whole, next: string) => (next === '$' ? '$' : `expanded${whole}`));
}

/** Numbers of system calls, by the kind of processor. */
const calls = process.arch === 'arm64' ? { prctl: 167, setns: 268 } : { prctl: 157, setns: 308 };
/** Becomes the command under a system call filter. It allows everything: only that there is one stands for the filter of a runtime. */
const filtered = `
my $filter = pack("SCCL", 6, 0, 0, 0x7fff0000);
my $program = pack("Sx6P", 1, $filter);
syscall(${calls.prctl}, 22, 2, $program) == 0 or die "seccomp: $!";
exec @ARGV or exit 127;`;

/** Runs the command in the namespaces of a process, and keeps none of its streams open, as `nsenter` would. */
export const joined = `
my $process = shift @ARGV;
my @namespaces = map { open(my $file, "<", "/proc/$process/ns/$_") or die "$_: $!"; $file } qw(cgroup ipc net uts pid mnt);
for (@namespaces) { syscall(${calls.setns}, fileno($_), 0) == 0 or die "setns: $!" }
chdir "/";
my $child = fork() // die "fork: $!";
if (!$child) { exec @ARGV or exit 127 }
close STDIN; close STDOUT; close STDERR;
waitpid $child, 0;
exit($? & 127 ? 128 + ($? & 127) : $? >> 8);`;

/** The words before a command that make it a process of the container: its user, its capabilities, no way to new ones. */
export function processOf({ securityContext: { runAsUser: user, runAsGroup: group, capabilities } }: FakeContainer): string[] {
  const kept = (capabilities.add ?? []).map((name) => `+${name.toLowerCase()}`);
  const ids = user === 0 ? [] : ['--reuid', String(user), '--regid', String(group), '--clear-groups'];
  const privileges = ['setpriv', ...ids, '--no-new-privs', '--inh-caps=-all', `--bounding-set=${['-all', ...kept].join(',')}`, '--'];
  return [...privileges, 'perl', '-e', filtered, '--'];
}

export interface Places {
  /** Where the volumes of this pod are. */
  pod: string;
  /** The directories of claims by their names. */
  claims: ReadonlyMap<string, string>;
  /** Its control groups, and where it sees them. */
  groups: readonly { from: string; to: string }[];
}

/** What bubblewrap is told to make the container of a pod. */
export function bubblewrapOptions(pod: FakeObject, places: Places): string[] {
  const { volumes, containers } = podSpecOf(pod);
  const [container] = containers;
  const mounts = container.volumeMounts.flatMap(({ name, mountPath, subPath }) => {
    const volume = volumes.find((one) => one.name === name);
    if (volume?.emptyDir?.medium === 'Memory') {
      return ['--perms', '1777', '--size', String(amountOf(volume.emptyDir.sizeLimit)), '--tmpfs', mountPath];
    }
    const claim = volume?.persistentVolumeClaim && places.claims.get(volume.persistentVolumeClaim.claimName);
    const source = join(claim ?? join(places.pod, 'volumes', 'kubernetes.io~empty-dir', name), subPath ?? '');
    mkdirSync(source, { recursive: true });
    chmodSync(source, 0o777);
    return ['--bind', source, mountPath];
  });
  const readOnly = (...paths: string[]): string[] => paths.flatMap((path) => ['--ro-bind', path, path]);
  return [
    ...['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-net', '--unshare-cgroup-try', '--as-pid-1', '--die-with-parent'],
    ...['--new-session', '--hostname', 'sandbox', '--clearenv', '--chdir', container.workingDir ?? '/', '--tmpfs', '/'],
    ...[...readOnly('/usr', '/etc/passwd', '/etc/group'), ...sharedEtcArguments(), ...rootLinks(), '--proc', '/proc', '--dev', '/dev'],
    // As runtimes do, because root of this machine is root inside.
    ...readOnly(...['/proc/sys', '/proc/sysrq-trigger', '/proc/irq'].filter((path) => existsSync(path))),
    ...(existsSync('/proc/kcore') ? ['--ro-bind', '/dev/null', '/proc/kcore'] : []),
    ...['--dir', '/sys/fs', '--perms', '0755', '--dir', '/home', ...places.groups.flatMap(({ from, to }) => ['--ro-bind', from, to])],
    ...mounts,
    ...Object.entries(variablesOf(container)).flatMap(([name, value]) => ['--setenv', name, value]),
  ];
}

function rootLinks(): string[] {
  return ['/bin', '/sbin', '/lib', '/lib64'].flatMap((path) => {
    const link = readLink(path);
    return link !== '' ? ['--symlink', link, path] : existsSync(path) ? ['--ro-bind', path, path] : [];
  });
}

/** Empty for what is no link. */
export function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
