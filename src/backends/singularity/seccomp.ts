import { refusedCalls } from '../namespaces/syscalls.ts';

interface Condition {
  index: number;
  value: number;
  valueTwo?: number;
  op: 'SCMP_CMP_MASKED_EQ' | 'SCMP_CMP_GT' | 'SCMP_CMP_NE';
}

/** The kernel takes these arguments as 32 bits wide. Security: so only the low half is compared, or junk in the high half would get past. */
function low(index: number, value: number): Condition[] {
  return [{ index, value: 0xffffffff, valueTwo: value, op: 'SCMP_CMP_MASKED_EQ' }];
}

const [unixFamily, internetFamily, internet6Family, netlinkFamily] = [1, 2, 10, 16];
const ordinaryFamilies: readonly number[] = [0, unixFamily, internetFamily, internet6Family, netlinkFamily];
const [pushBackInput, linuxConsole] = [0x5412, 0x541c]; // TIOCSTI, TIOCLINUX

/**
 * A profile for `apptainer --security seccomp:FILE`, which can refuse with EPERM only. New namespaces are not in it: the calls that make one cannot all
 * be told apart by a filter that has no other answer, and `host-scripts/limit-user-namespaces.bash` forbids them.
 */
export function seccompProfile(): string {
  const refuse = (name: string, args?: Condition[]) => ({ names: [name], action: 'SCMP_ACT_ERRNO', ...(args && { args }) });
  const oddFamilies = Array.from({ length: netlinkFamily }, (_, family) => family).filter((family) => !ordinaryFamilies.includes(family));
  return JSON.stringify({
    defaultAction: 'SCMP_ACT_ALLOW',
    // Security: calls of another architecture, such as 32-bit code on a 64-bit kernel, are not in the list and end the process.
    architectures: [process.arch === 'arm64' ? 'SCMP_ARCH_AARCH64' : 'SCMP_ARCH_X86_64'],
    syscalls: [
      ...Object.keys(refusedCalls).map((name) => refuse(name)),
      ...oddFamilies.map((family) => refuse('socket', low(0, family))),
      refuse('socket', [{ index: 0, value: netlinkFamily, op: 'SCMP_CMP_GT' }]),
      refuse('socketpair', [{ index: 0, value: unixFamily, op: 'SCMP_CMP_NE' }]),
      ...[pushBackInput, linuxConsole].map((request) => refuse('ioctl', low(1, request))),
    ],
  });
}
