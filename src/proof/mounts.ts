import { realpath } from 'node:fs/promises';
import { basename, normalize } from 'node:path/posix';
import { pathsIn } from '../backends/sandbox-directory.ts';
import { volumesOf } from '../backends/volume-names.ts';
import type { ProofLine } from '../core/proof.ts';
import { token } from './bait.ts';
import { type Ground, line, type Promises, unanswered } from './ground.ts';
import { isInside, type Location, locate, type MountEntry, mountAt, parseMounts } from './mount-table.ts';

/** In memory, or in the directory of the sandbox for such files. */
const temporary = ['/tmp', '/var/tmp'];
/** In memory, and only there. */
const inMemory = [...temporary, '/run', '/dev', '/dev/shm', '/sys/fs/cgroup'];
const ownDirectories = ['/workspace', '/root', '/home/agent'];
const engineFiles = ['/etc/resolv.conf', '/etc/hostname', '/etc/hosts', '/dev/termination-log'];
/** File systems that are the kernel's own words; what may not be written in them is tried by itself. */
const kernelTypes = ['proc', 'devpts', 'mqueue'];
const harmlessDevices = /^\/(?:null|zero|full|random|urandom|tty|console)$/;
/** An unnamed volume: the engine makes it for this container alone where the image asks for one. */
const unnamedVolume = /\/volumes\/[0-9a-f]{64}\/_data$/;
/** A volume that a node of a cluster makes for one pod alone, and removes with it. */
const podVolume = /\/pods\/[0-9a-f-]{36}\/volumes\/kubernetes\.io~empty-dir\/[\w-]+$/;
const maxQuestions = 64;

/** As the host sees them, else as the probe tells; undefined when neither does. */
function mountsOf({ host, inside }: Ground): readonly MountEntry[] | undefined {
  if (host?.init.mounts) return host.init.mounts;
  const told = parseMounts(inside.facts.get('mount') ?? []);
  return told.length > 0 ? told : undefined;
}

export async function checkWritableMounts(ground: Ground, { hasRootFileSystem }: Promises): Promise<ProofLine> {
  const tried = 'Find a mount that can be written and is not documented.';
  const check = 'writable-mounts';
  const mounts = mountsOf(ground);
  if (!mounts) return unanswered(check, tried);
  const home = ground.host && locate(ground.host.mounts, await realpath(ground.spec.directory).catch(() => ground.spec.directory));
  // One that another hides cannot be reached.
  const writable = mounts.filter((entry) => entry.writable && mountAt(mounts, entry.target) === entry);
  const excess = writable.filter((entry) => !isDocumented(ground, entry, home, hasRootFileSystem));
  const seenBy = ground.host?.init.mounts ? 'as the host sees it' : 'as it is told inside';
  if (excess.length > 0) return line(check, tried, 'broken', `Undocumented: ${excess.map(describe).join(', ')}, ${seenBy}.`);
  const shown = writable.filter((entry) => !kernelTypes.includes(entry.type) && !harmlessDevices.test(entry.root));
  return line(check, tried, 'held', `Only documented ones: ${[...new Set(shown.map(({ target }) => target))].join(', ')}, ${seenBy}.`);
}

function describe({ target, root, type }: MountEntry): string {
  return `${target} (${root} of a file system of type ${type})`;
}

/** `home`: where the directory of this sandbox lies, if the host sees the sandbox. */
function isDocumented({ host, spec }: Ground, entry: MountEntry, home: Location | undefined, isContainer: boolean): boolean {
  const { target, type, root, device } = entry;
  // A mount brings those below it along.
  if (spec.mounts.some((mount) => !mount.readOnly && isInside(target, place(mount.target)))) return true;
  if (spec.mounts.some((mount) => mount.readOnly && isInside(target, place(mount.target)))) return false;
  if (kernelTypes.includes(type) || ((type === 'devtmpfs' || type === 'tmpfs') && harmlessDevices.test(root))) return true;
  // Security: a file system in memory of the host's is not one of the sandbox's, under any path inside.
  const isPrivateMemory = type === 'tmpfs' && !host?.mounts.some((own) => own.device === device);
  const isBelow = (path: (found: Location) => string): boolean =>
    home !== undefined && device === home.device && isInside(root, path(home));
  const isInHome = isBelow(({ path }) => path);
  if (inMemory.includes(target)) return isPrivateMemory || (temporary.includes(target) && isBelow(({ path }) => pathsIn(path).temporary));
  if (ownDirectories.includes(target)) {
    return isPrivateMemory || home === undefined || isInHome || (isContainer && (isVolumeOf(spec.name, root) || podVolume.test(root)));
  }
  return isContainer && (target === '/' || engineFiles.includes(target) || unnamedVolume.test(root));
}

/** An engine behind a port keeps the files of a sandbox in volumes, and may run on this very machine. */
function isVolumeOf(sandbox: string, root: string): boolean {
  return Object.values(volumesOf(sandbox)).some((volume) => root.endsWith(`/volumes/${volume}/_data`));
}

function place(target: string): string {
  const normal = normalize(target);
  return normal.length > 1 ? normal.replace(/\/$/, '') : normal;
}

/** Those of files and directories; the masks over the kernel's own file systems are tried as kernel files. */
export async function checkReadOnlyMounts(ground: Ground): Promise<ProofLine> {
  const tried = 'Write to every mount that is read-only.';
  const check = 'read-only-mounts';
  const mounts = mountsOf(ground);
  if (!mounts) return unanswered(check, tried);
  const found = mounts.filter(({ writable, target }) => !writable && !['/proc', '/sys', '/dev'].some((tree) => isInside(target, tree)));
  const wished = ground.spec.mounts.filter(({ readOnly }) => readOnly).map(({ target }) => place(target));
  const targets = [...new Set([...wished, ...found.map(({ target }) => target)])].slice(0, maxQuestions);
  const answers = await Promise.all(
    targets.map(async (target) => ({ target, answer: await ground.inside.ask('write', target, fileName()) })),
  );
  const written = answers.filter(({ answer }) => answer?.outcome === 'written').map(({ target }) => target);
  if (written.length > 0) return line(check, tried, 'broken', `These were written: ${written.join(', ')}.`);
  if (answers.some(({ answer }) => answer?.outcome !== 'refused' && answer?.outcome !== 'absent')) return unanswered(check, tried);
  return line(check, tried, 'held', targets.length === 0 ? 'There is none.' : `All ${targets.length} refused.`);
}

function fileName(): string {
  return `.hermetic-proof-${token()}`;
}

export async function checkRunDirectory(ground: Ground): Promise<ProofLine> {
  const tried = 'Write to /run/hermetic, where the host has its pipes.';
  const check = 'run-directory';
  const answer = await ground.inside.ask('write', '/run/hermetic', fileName());
  switch (answer?.outcome) {
    case 'refused':
      return line(check, tried, 'held', `It was refused: ${answer.detail}.`);
    case 'absent':
      return line(check, tried, 'held', 'There is no such directory.');
    case 'written':
      return line(check, tried, 'broken', 'A file could be made there.');
    default:
      return unanswered(check, tried);
  }
}

/** With most of these root inside becomes root outside. They are opened, and nothing is written. */
const kernelFiles = [
  ...['/proc/sys/kernel/core_pattern', '/proc/sys/kernel/modprobe', '/proc/sys/vm/drop_caches', '/proc/sysrq-trigger', '/proc/kcore'],
  ...['/proc/irq/default_smp_affinity', '/sys/kernel/uevent_helper', '/sys/kernel/mm/transparent_hugepage/enabled', '/sys/power/state'],
  ...['/sys/fs/cgroup/release_agent', '/sys/fs/cgroup/memory/release_agent', '/sys/fs/cgroup/memory/memory.limit_in_bytes'],
  ...['/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/pids.max', '/sys/fs/cgroup/pids/pids.max', '/sys/fs/cgroup/cgroup.procs'],
];

export async function checkKernelFiles(ground: Ground): Promise<ProofLine> {
  const tried = 'Open settings of the kernel for writing, among them those of its own limits; nothing was written.';
  const check = 'kernel-files';
  const answers = await Promise.all(
    kernelFiles.map(async (path) => ({ path, answer: await ground.inside.ask('write', path, fileName()) })),
  );
  const opened = answers.filter(({ answer }) => answer?.outcome === 'written').map(({ path }) => path);
  if (opened.length > 0) return line(check, tried, 'broken', `These could be opened: ${opened.join(', ')}.`);
  if (answers.some(({ answer }) => answer?.outcome !== 'refused' && answer?.outcome !== 'absent')) return unanswered(check, tried);
  return line(check, tried, 'held', `All ${kernelFiles.length} refused or missing.`);
}

export async function checkDevices(ground: Ground): Promise<ProofLine> {
  const tried = 'Find a disk, the memory or the log of the host in /dev.';
  const check = 'devices';
  const answer = await ground.inside.ask('devices');
  if (answer?.outcome === 'present') {
    const names = answer.detail
      .trim()
      .split(' ')
      .map((path) => basename(path));
    return line(check, tried, 'broken', `They are there: ${names.join(', ')}.`);
  }
  return answer?.outcome === 'absent' ? line(check, tried, 'held', 'None is there.') : unanswered(check, tried);
}
