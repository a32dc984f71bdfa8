import { refusedCalls } from './syscalls.ts';

/** What makes namespaces and puts a view of the file system together. */
const makers: ReadonlySet<string> = new Set(['mount', 'umount2', 'pivot_root', 'chroot', 'unshare', 'setns']);
/** The later interface for mounts: programs take the older one where the kernel does not have it. */
const laterMounts = /^(fs(open|config|mount|pick)|open_tree|open_tree_attr|move_mount|mount_setattr)$/;
const [notPermitted, notImplemented] = [1, 38];

/**
 * The profile of a container in which the gateway makes sandboxes: what a sandbox is refused, but for what makes one.
 * Engines refuse namespaces by themselves.
 */
export function containerProfile(): string {
  const names = Object.keys(refusedCalls).filter((name) => !makers.has(name));
  const refuse = (errnoRet: number, isRefused: (name: string) => boolean) => ({
    names: names.filter(isRefused),
    action: 'SCMP_ACT_ERRNO',
    errnoRet,
  });
  const profile = {
    defaultAction: 'SCMP_ACT_ALLOW',
    syscalls: [refuse(notPermitted, (name) => !laterMounts.test(name)), refuse(notImplemented, (name) => laterMounts.test(name))],
  };
  return `${JSON.stringify(profile, undefined, 2)}\n`;
}
