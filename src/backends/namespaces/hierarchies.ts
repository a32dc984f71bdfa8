import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { everyController, type Hierarchy } from './cgroup.ts';

/** Whose control groups are looked for. */
interface Seeker {
  user: number | undefined;
  /** Where its file system begins. */
  root: string;
}

const here: Seeker = { user: process.getuid?.(), root: '/' };
/**
 * The group of this program within the group of its service: a group with processes of its own hands no controllers
 * down.
 */
const ownLeaf = 'gateway';

interface Mounted {
  type: string;
  options: readonly string[];
  path: string;
}

/** Where control groups of these versions can be tried here. Each controller is in one hierarchy only. */
export async function findHierarchies(versions: readonly (1 | 2)[], seeker = here): Promise<Hierarchy[]> {
  const isRoot = seeker.user === 0;
  const mounted = await mountedGroups(seeker);
  const found: Hierarchy[] = [];
  const unified = mounted.find(({ type }) => type === 'cgroup2');
  if (unified && versions.includes(2)) {
    const base = isRoot ? unified.path : ((await serviceGroup(unified.path, seeker)) ?? sessionGroup(unified.path, seeker));
    const controllers = await controllersIn(base);
    if (controllers.length > 0) found.push({ version: 2, base, controllers });
  }
  // Version 1 has no safe way to be handed to an ordinary user.
  for (const controller of isRoot && versions.includes(1) ? everyController : []) {
    const own = mounted.find(({ type, options }) => type === 'cgroup' && options.includes(controller));
    if (own) found.push({ version: 1, base: own.path, controllers: [controller] });
  }
  return found;
}

/** Why an ordinary user has no control groups here, and what gives them. */
export async function groupObstacle(seeker = here): Promise<string> {
  if (seeker.user === 0) return 'no control group can be used here';
  const mounted = await mountedGroups(seeker);
  const unified = mounted.find(({ type }) => type === 'cgroup2');
  if ((unified ? await controllersIn(unified.path) : []).length === 0) {
    return mounted.some(({ type }) => type === 'cgroup')
      ? 'this machine has control groups of version 1, which cannot be handed to an ordinary user'
      : 'no control groups can be seen here';
  }
  const service = unified && (await serviceBase(unified.path, seeker));
  const session = sessionGroup(unified?.path ?? '', seeker);
  const handed = await controllersIn(service ?? session);
  if (handed.length === 0) return 'no control group is handed to this user, as to a system service with Delegate=yes';
  // The kernel moves no process of an ordinary user from one part of the tree to another.
  if (!service && !(await ownGroup(seeker)).startsWith(sessionGroup('/', seeker)))
    return 'this program was not started in the control group of this user, as by systemd-run --user --scope';
  return handed.length < everyController.length
    ? `only these controllers are handed to this user: ${handed.join(', ')}`
    : 'no control group can be used here';
}

async function mountedGroups({ root }: Seeker): Promise<Mounted[]> {
  const table = await readFile(join(root, 'proc/self/mountinfo'), 'utf8').catch(() => '');
  return table.split('\n').map((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const [type = '', , options = ''] = after.split(' ');
    return { type, options: options.split(','), path: join(root, before.split(' ')[4] ?? '') };
  });
}

async function controllersIn(group: string): Promise<Hierarchy['controllers']> {
  const names = (await readFile(join(group, 'cgroup.controllers'), 'utf8').catch(() => '')).split(/\s+/);
  return everyController.filter((controller) => names.includes(controller));
}

async function ownGroup({ root }: Seeker): Promise<string> {
  return /^0::(\/.*)$/m.exec(await readFile(join(root, 'proc/self/cgroup'), 'utf8').catch(() => ''))?.[1] ?? '';
}

/** systemd hands it to a user who has a login session. */
function sessionGroup(mountPoint: string, { user }: Seeker): string {
  return join(mountPoint, `user.slice/user-${user}.slice/user@${user}.service`);
}

/** `serviceBase`, whose processes move into a leaf of it. */
async function serviceGroup(mountPoint: string, seeker: Seeker): Promise<string | undefined> {
  const base = await serviceBase(mountPoint, seeker);
  if (base === undefined) return undefined;
  moving = moving.then(() => moveToLeaf(base));
  await moving;
  return base;
}

/** The group of the system service that this program is, when it was handed to the user of the service. */
async function serviceBase(mountPoint: string, seeker: Seeker): Promise<string | undefined> {
  const own = await ownGroup(seeker);
  const service = own.endsWith(`/${ownLeaf}`) ? own.slice(0, -ownLeaf.length - 1) : own;
  if (!service.endsWith('.service') || service.startsWith('/user.slice/')) return undefined;
  const base = join(mountPoint, service);
  const status = await stat(base).catch(() => undefined);
  if (!status || status.uid !== seeker.user) return undefined;
  return (await controllersIn(base)).length === 0 ? undefined : base;
}

/**
 * Security: one after another. A process that the one before has moved here goes on into the group of its sandbox, and
 * would be taken out of its limits by one that has seen it before.
 */
let moving: Promise<void> = Promise.resolve();

/** Never rejects. */
async function moveToLeaf(base: string): Promise<void> {
  const leaf = join(base, ownLeaf);
  await mkdir(leaf).catch(() => undefined);
  // More than once because a process may start another one before it is moved itself.
  for (let pass = 0; pass < 3; pass += 1) {
    const processes = (await readFile(join(base, 'cgroup.procs'), 'utf8').catch(() => '')).split('\n').filter((pid) => pid !== '');
    if (processes.length === 0) return;
    // One that has ended meanwhile needs no place.
    for (const pid of processes) await writeFile(join(leaf, 'cgroup.procs'), pid).catch(() => undefined);
  }
}
