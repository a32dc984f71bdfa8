import { HermeticError } from '../../core/errors.ts';
import type { Enforcement, Limits, Mount, Places, SandboxSpec } from '../../core/sandbox.ts';
import { restrictedResolver } from '../../egress/environment.ts';
import { receivedInside } from '../received-files.ts';
import type { Volumes } from '../volume-names.ts';
import { workdirInside } from '../workdir.ts';
import { parseExtraArguments } from './extra-arguments.ts';
import { checkMount } from './mounts.ts';
import { networkName } from './network.ts';
import { specHash } from './spec-hash.ts';

interface HostUser {
  uid: number;
  gid: number;
}

export interface ContainerInput {
  spec: SandboxSpec;
  /** Tells our containers from those of another installation on the same engine. */
  installation: string;
  /** `sha256:…` of the image, so that a tag that moves meanwhile changes nothing. */
  imageId: string;
  /** Of the guest's files. */
  guestVersion: string;
  /** Host directory that appears read-only at `/run/hermetic`. */
  runDirectory?: string | undefined;
  /** Host directories of a persistent sandbox. */
  workspace?: string | undefined;
  home?: string | undefined;
  /** Host directory with the files people sent, also of one that is not persistent. */
  received?: string | undefined;
  /** Volumes of a persistent sandbox instead, where the engine does not see the directories of this host. */
  volumes?: Volumes | undefined;
  /** The command of the container, under its init. */
  guestCommand: readonly string[];
  /** Required when `spec.user` is `host`. */
  hostUser?: HostUser | undefined;
  runtime?: string | undefined;
  /** The engine can limit the container's own file system. */
  storageLimited: boolean;
  extraArgs?: readonly string[] | undefined;
  /** Limits that are not enforced are not asked for: an engine fails for them, or ignores them. */
  enforcement?: Enforcement | undefined;
  /** Given where the engine is that of podman. */
  libpod?: LibpodInput | undefined;
}

interface LibpodInput {
  isRootless: boolean;
  /** Host directory with the `hosts` and `resolv.conf` that it is to have. */
  etc: string;
}

export interface ContainerBody {
  Image: string;
  Labels: Record<string, string>;
  Env: string[];
  User: string;
  HostConfig: Record<string, unknown> & { NetworkMode: string; Tmpfs: Record<string, string>; Mounts: EngineMount[] };
  [field: string]: unknown;
}

interface EngineMount {
  Type: 'bind' | 'volume';
  /** Of a bind its path, of a volume its name. */
  Source?: string;
  Target: string;
  ReadOnly: boolean;
  VolumeOptions?: {
    NoCopy?: boolean;
    Labels?: Record<string, string>;
    DriverConfig?: { Name: string; Options: Record<string, string> };
  };
}

export const runDirectoryInside = '/run/hermetic';
const workspaceInside = '/workspace';
/** Of a user who is root inside. */
export const homeOfRoot = '/root';

/**
 * Home is where the user of the sandbox may write. `/root` of most images is closed to every user but root, so that the host's user gets a home
 * of its own; everything that is mounted for the agent (credentials, skills) belongs under this path.
 */
function homeInside(user: SandboxSpec['user']): string {
  return user === 'host' ? '/home/agent' : homeOfRoot;
}

export function placesInside({ env, user, workdir }: SandboxSpec): Places {
  const home = env.HOME ?? homeInside(user);
  return { home, workdir: workdirInside(workdir, { home, workspace: workspaceInside }) };
}

/** The body of `POST /containers/create`. Pure. */
export function containerBody(input: ContainerInput): ContainerBody {
  const { spec } = input;
  const extra = parseExtraArguments(input.extraArgs ?? []);
  const user = userOf(input);
  const root = user.uid === 0;
  const mounts = mountsOf(input);
  const runtime = runtimeOf(input.runtime, extra.runtime);
  const resolvers = resolversOf(spec, extra.dns);
  const limits = limitsOf(input);
  return {
    Image: input.imageId,
    // Replaces the entry point of the image, so that nothing of it (an s6 `/init`, a server) runs.
    Entrypoint: [...withoutOwnVariables(input), ...input.guestCommand],
    Cmd: [],
    WorkingDir: '/',
    Hostname: extra.hostname ?? 'sandbox',
    User: `${user.uid}:${user.gid}`,
    Env: Object.entries({ HOME: homeInside(spec.user), ...spec.env }).map(([name, value]) => `${name}=${value}`),
    Tty: false,
    OpenStdin: false,
    AttachStdin: false,
    AttachStdout: false,
    AttachStderr: false,
    StopSignal: input.libpod ? 'SIGKILL' : 'SIGTERM',
    StopTimeout: 1,
    Labels: {
      ...extra.labels,
      'hermetic.installation': input.installation,
      'hermetic.name': spec.name,
      'hermetic.session': spec.session,
      'hermetic.image': spec.image ?? input.imageId,
      'hermetic.spec': specHash(spec, input),
      'hermetic.version': input.guestVersion,
    },
    HostConfig: {
      // Security: DAC_OVERRIDE, CHOWN and FOWNER are what root needs to install packages into its own files. SETUID and SETGID let root, and
      // only root, step down to another user: apt fetches as `_apt`, maintainer scripts and `su` do it too. Nothing here lets a process step up.
      Privileged: false,
      CapDrop: ['ALL'],
      CapAdd: capabilitiesOf(root, input),
      SecurityOpt: ['no-new-privileges'],
      // That of libpod, catatonit, leaves signals of terminals blocked. Bash takes in orphans, too.
      Init: !input.libpod,
      AutoRemove: !spec.persistent,
      RestartPolicy: { Name: 'no' },
      // Nothing a sandbox prints is written on the host.
      LogConfig: { Type: 'none', Config: {} },
      NetworkMode: networkOf(input, extra.network),
      Mounts: mounts,
      Tmpfs: { ...tmpfsOf(input, user, mounts), ...(input.libpod && { '/dev/shm': libpodShm(extra.shmBytes) }) },
      ...(limits.pids > 0 && { PidsLimit: limits.pids }),
      // Equal, so that no swap adds to the memory.
      ...(limits.memoryMb > 0 && { Memory: limits.memoryMb * 1024 * 1024, MemorySwap: limits.memoryMb * 1024 * 1024 }),
      ...(limits.cpus > 0 && { NanoCpus: Math.round(limits.cpus * 1e9) }),
      ...(spec.limits.diskMb > 0 && input.storageLimited && { StorageOpt: { size: `${spec.limits.diskMb}m` } }),
      ...(runtime !== undefined && { Runtime: runtime }),
      // The user of the host has the same number inside, and files belong to it on both sides.
      ...(input.libpod?.isRootless && !root && { UsernsMode: 'keep-id' }),
      ...(extra.shmBytes !== undefined && { ShmSize: extra.shmBytes }),
      ...(extra.ulimits.length > 0 && { Ulimits: extra.ulimits }),
      ...(extra.hosts.length > 0 && { ExtraHosts: extra.hosts }),
      ...(resolvers.length > 0 && { Dns: resolvers }),
      ...(extra.gpus !== undefined && { DeviceRequests: [{ Count: extra.gpus, Capabilities: [['gpu']] }] }),
    },
  };
}

/** By default root of the container, also when the image names another user: `/workspace` and `/root` belong to it, and packages can be installed. */
function userOf({ spec, hostUser }: ContainerInput): HostUser {
  if (spec.user === 'default') {
    return { uid: 0, gid: 0 };
  }
  if (!hostUser) {
    throw new HermeticError('backend/cannot-honour', 'This system has no user ids, so the sandbox cannot run as the host user.', {
      hint: 'Set terminal.docker_run_as_host_user to false.',
    });
  }
  return hostUser;
}

function capabilitiesOf(isRoot: boolean, { libpod }: ContainerInput): string[] {
  if (isRoot) return ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'SETGID', 'SETUID'];
  // Security: Docker only lets another user get them, which no-new-privileges forbids. Libpod would give them to it.
  return libpod ? [] : ['CHOWN', 'DAC_OVERRIDE', 'FOWNER'];
}

/** Libpod adds variables of its own, which mean something to programs. */
function withoutOwnVariables({ spec, libpod }: ContainerInput): string[] {
  const added = libpod ? ['TERM', 'container'].filter((name) => spec.env[name] === undefined) : [];
  return added.length === 0 ? [] : ['env', ...added.flatMap((name) => ['-u', name])];
}

function limitsOf({ spec: { limits }, enforcement }: ContainerInput): Limits {
  if (!enforcement) return limits;
  const { cpus, memoryMb, pids } = enforcement;
  return {
    ...limits,
    cpus: cpus.enforced ? limits.cpus : 0,
    memoryMb: memoryMb.enforced ? limits.memoryMb : 0,
    pids: pids.enforced ? limits.pids : 0,
  };
}

function networkOf({ spec, installation, libpod }: ContainerInput, named: string | undefined): string {
  if (spec.network === 'none' || spec.network === 'restricted') {
    // Security: a network named elsewhere must not undo them.
    if (named !== undefined) throw contradiction(`--network ${named}`, `terminal.network: ${spec.network}`);
    return 'none';
  }
  // Security: a network in user space of this container alone. The bridges of libpod do not keep containers apart.
  return named ?? (libpod ? 'slirp4netns:allow_host_loopback=false,enable_ipv6=false' : networkName(installation));
}

function resolversOf({ network }: SandboxSpec, named: readonly string[]): readonly string[] {
  if (network !== 'restricted') return named;
  if (named.length > 0) throw contradiction(`--dns ${named.join(', ')}`, 'terminal.network: restricted');
  return [restrictedResolver];
}

function contradiction(argument: string, setting: string): HermeticError {
  return new HermeticError('config/bad-value', `terminal.docker_extra_args: ${argument} contradicts ${setting}.`, {
    hint: 'Remove one of them.',
  });
}

function runtimeOf(configured: string | undefined, extra: string | undefined): string | undefined {
  if (configured !== undefined && extra !== undefined && configured !== extra) {
    throw contradiction(`--runtime ${extra}`, `terminal.docker_runtime: ${configured}`);
  }
  return configured ?? extra;
}

/** A mount the user asks for replaces ours at the same path, and only there. */
function mountsOf(input: ContainerInput): EngineMount[] {
  const { spec } = input;
  const wanted = spec.mounts.map(checkMount);
  const targets = new Set<string>();
  for (const { target } of wanted) {
    if (targets.has(target)) {
      throw new HermeticError('config/bad-value', `terminal.docker_volumes: two directories are to be mounted at ${target}.`);
    }
    targets.add(target);
  }
  const own: EngineMount[] = [];
  if (spec.persistent && input.volumes) {
    own.push(volume(input, input.volumes.workspace, workspaceInside));
    own.push(volume(input, input.volumes.home, homeInside(spec.user)));
  }
  if (spec.persistent && input.workspace !== undefined) {
    own.push(bind({ source: input.workspace, target: workspaceInside, readOnly: false }));
  }
  if (spec.persistent && input.home !== undefined) {
    const home = { source: input.home, target: homeInside(spec.user), readOnly: false };
    own.push(spec.user === 'default' && !input.libpod ? seededBind(home) : bind(home));
  }
  // Security: read-only, so that the sandbox cannot replace a pipe by a link.
  const run = input.runDirectory === undefined ? [] : [bind({ source: input.runDirectory, target: runDirectoryInside, readOnly: true })];
  const received = input.received === undefined ? [] : [bind({ source: input.received, target: receivedInside, readOnly: true })];
  return [...own.filter((mount) => !targets.has(mount.Target)), ...wanted.map(bind), ...run, ...received, ...etcMounts(input)];
}

/** Security: libpod would copy these files of its host. On an open network it has a resolver of its own. */
function etcMounts({ spec, libpod }: ContainerInput): EngineMount[] {
  if (!libpod) return [];
  const isOpen = spec.network !== 'none' && spec.network !== 'restricted';
  const names = isOpen ? ['hosts'] : ['hosts', 'resolv.conf'];
  return names.map((name) => bind({ source: `${libpod.etc}/${name}`, target: `/etc/${name}`, readOnly: name !== 'hosts' }));
}

function bind({ source, target, readOnly }: Mount): EngineMount {
  return { Type: 'bind', Source: source, Target: target, ReadOnly: readOnly };
}

/** Root's home is filled with what the image has there. */
function volume({ spec, installation }: ContainerInput, name: string, target: string): EngineMount {
  const labels = { 'hermetic.installation': installation, 'hermetic.name': spec.name };
  const isSeeded = spec.user === 'default' && target === homeInside('default');
  return { Type: 'volume', Source: name, Target: target, ReadOnly: false, VolumeOptions: { NoCopy: !isSeeded, Labels: labels } };
}

/** The same directory as a volume, which the engine fills with what the image has at that path as long as it is empty. */
function seededBind({ source, target, readOnly }: Mount): EngineMount {
  const Options = { type: 'none', o: 'bind', device: source };
  return { Type: 'volume', Target: target, ReadOnly: readOnly, VolumeOptions: { DriverConfig: { Name: 'local', Options } } };
}

/** Security: that of libpod is also mounted on its host, where others may see what is in it. */
function libpodShm(bytes = 64 * 1024 * 1024): string {
  return `rw,noexec,nosuid,nodev,mode=1777,notmpcopyup,size=${bytes}`;
}

function tmpfsOf({ spec, libpod }: ContainerInput, user: HostUser, mounts: readonly EngineMount[]): Record<string, string> {
  const { diskMb } = spec.limits;
  // Libpod knows no owners of a file system in memory, and would fill it with what the image has there.
  const own = (mode: string): string =>
    libpod ? `mode=${user.uid === 0 ? mode : '777'},notmpcopyup` : `mode=${mode},uid=${user.uid},gid=${user.gid}`;
  const shared = libpod ? 'mode=1777,notmpcopyup' : 'mode=1777';
  const tmpfs: Record<string, string> = {
    '/tmp': `rw,exec,nosuid,nodev,${shared},size=512m`,
    '/var/tmp': `rw,noexec,nosuid,nodev,${shared},size=256m`,
    '/run': `rw,noexec,nosuid,nodev,${own('755')},size=64m`,
    // Only where no directory of the host is mounted. What is written there counts as memory of the sandbox, too.
    [workspaceInside]: `rw,exec,nosuid,nodev,${own('755')}${diskMb > 0 ? `,size=${diskMb}m` : ''}`,
    [homeInside(spec.user)]: `rw,exec,nosuid,nodev,${own('700')}${diskMb > 0 ? `,size=${Math.min(diskMb, 1024)}m` : ''}`,
  };
  for (const mount of mounts) {
    delete tmpfs[mount.Target];
  }
  return tmpfs;
}
