import { describe, expect, it } from 'vitest';
import { seccompFilter } from '../../../src/backends/bubblewrap/seccomp.ts';
import { refusedCalls } from '../../../src/backends/namespaces/syscalls.ts';
import { itNeeding } from '../../needs.ts';
import { describeBubblewrap, people, run } from './open.ts';

const architectures = { x64: { audit: 0xc000003e, column: 0 }, arm64: { audit: 0xc00000b7, column: 1 } } as const;
const allowed = 0x7fff0000;
const killed = 0x80000000;
const [eperm, enosys, eafnosupport] = [1, 38, 97].map((number) => 0x50000 + number);

/** Runs the filter as the kernel would. */
function judge(filter: Buffer, audit: number, number: number, args: readonly bigint[] = []): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number, 0);
  data.writeUInt32LE(audit, 4);
  for (const [index, value] of args.entries()) data.writeBigUInt64LE(BigInt.asUintN(64, value), 16 + 8 * index);
  let accumulator = 0;
  for (let at = 0; at < filter.length / 8; at += 1) {
    const value = filter.readUInt32LE(at * 8 + 4);
    const [yes, no] = [filter.readUInt8(at * 8 + 2), filter.readUInt8(at * 8 + 3)];
    switch (filter.readUInt16LE(at * 8)) {
      case 0x20:
        accumulator = data.readUInt32LE(value);
        break;
      case 0x54:
        accumulator = (accumulator & value) >>> 0;
        break;
      case 0x15:
        at += accumulator === value ? yes : no;
        break;
      case 0x35:
        at += accumulator >= value ? yes : no;
        break;
      case 0x06:
        return value;
      default:
        throw new Error('An instruction nobody knows.');
    }
  }
  throw new Error('The filter ended without a verdict.');
}

describe.each(['x64', 'arm64'] as const)('the system call filter for %s', (architecture) => {
  const filter = seccompFilter(architecture);
  const { audit, column } = architectures[architecture];
  const ask = (x64: number, arm64: number, ...args: bigint[]): number => judge(filter, audit, [x64, arm64][column] ?? 0, args);

  it('refuses every listed system call and allows the others', () => {
    const numbers = Object.values(refusedCalls).flatMap((pair) => pair[column] ?? []);
    for (const number of numbers) expect(judge(filter, audit, number)).toBe(eperm);
    // Those with conditions are asked about below.
    const others = Array.from({ length: 435 }, (_, number) => number).filter((number) => !numbers.includes(number));
    expect(others.filter((number) => judge(filter, audit, number, [1n]) !== allowed)).toEqual([[135, 92][column]]);
  });

  it('kills calls of another architecture and answers unknown call numbers with ENOSYS', () => {
    expect(judge(filter, 0x40000003, 1)).toBe(killed);
    expect(judge(filter, architectures[architecture === 'x64' ? 'arm64' : 'x64'].audit, 1)).toBe(killed);
    expect(judge(filter, audit, 0x40000000 + 165)).toBe(enosys);
    expect(judge(filter, audit, 0x7fffffff)).toBe(enosys);
  });

  it('answers system calls newer than the filter with ENOSYS', () => {
    expect(judge(filter, audit, 470)).toBe(enosys);
    expect(judge(filter, audit, 1000)).toBe(enosys);
    expect(judge(filter, audit, 467)).toBe(eperm);
  });

  it('allows clone for threads and processes, never for namespaces', () => {
    expect(ask(56, 220, 0x11n)).toBe(allowed);
    expect(ask(56, 220, 0x3d0f00n)).toBe(allowed);
    for (const flag of [0x20000n, 0x2000000n, 0x4000000n, 0x8000000n, 0x10000000n, 0x20000000n, 0x40000000n]) {
      expect(ask(56, 220, flag | 0x11n)).toBe(eperm);
    }
    expect(ask(435, 435)).toBe(enosys);
  });

  it('checks the half of an argument that the kernel reads', () => {
    const junk = 0xdeadbeef00000000n;
    expect(ask(16, 29, 0n, junk | 0x5412n)).toBe(eperm);
    expect(ask(16, 29, 0n, junk | 0x541cn)).toBe(eperm);
    expect(ask(16, 29, 0n, 0x5401n)).toBe(allowed);
    expect(ask(41, 198, junk | 38n)).toBe(eafnosupport);
    expect(ask(53, 199, junk | 30n)).toBe(eafnosupport);
    expect(ask(53, 199, junk | 1n)).toBe(allowed);
    expect(ask(135, 92, junk)).toBe(allowed);
    expect(ask(135, 92, 0xffffffffn)).toBe(allowed);
    expect(ask(135, 92, junk | 0x0040000n)).toBe(eperm);
  });

  it('allows only ordinary socket families', () => {
    const families = Array.from({ length: 50 }, (_, family) => family).filter((family) => ask(41, 198, BigInt(family), 1n, 0n) === allowed);
    expect(families).toEqual([1, 2, 10, 16]);
    expect(ask(41, 198, 16n, 3n, 9n)).toBe(eafnosupport);
    expect(ask(41, 198, 16n, 3n, 15n)).toBe(eafnosupport);
  });

  it('allows socketpair for AF_UNIX only', () => {
    const verdicts = Array.from({ length: 64 }, (_, family) => [family, ask(53, 199, BigInt(family), 1n, 0n)] as const);
    expect(verdicts.filter(([, verdict]) => verdict === allowed).map(([family]) => family)).toEqual([1]);
    expect(verdicts.filter(([, verdict]) => verdict === eafnosupport)).toHaveLength(63);
  });
});

it('refuses to build a system call filter for other processors', () => {
  expect(() => seccompFilter('riscv64')).toThrow(/riscv64/);
});

/** Name, number on x86_64, arguments, expected error. The arguments are such that without a filter another error, or none, would come. */
const attempts = `
import ctypes, errno, os, platform, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
column = 0 if platform.machine() == "x86_64" else 1
def call(name, numbers, *args):
    ctypes.set_errno(0)
    libc.syscall.restype = ctypes.c_long
    result = libc.syscall(ctypes.c_long(numbers[column]), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    print(name, errno.errorcode.get(ctypes.get_errno(), "ok") if result == -1 else "ok")
call("mount", (165, 40), b"none", b"/tmp", b"tmpfs", 0, 0)
call("fsopen", (430, 430), b"tmpfs", 0)
call("open_tree", (428, 428), -100, b"/", 1)
call("unshare", (272, 97), 0x10000000)
call("unshare nothing", (272, 97), 0)
call("clone", (56, 220), 0x10000011, 0, 0, 0, 0)
call("clone3", (435, 435), 0, 0)
call("setns", (308, 268), 0, 0)
call("ptrace", (101, 117), 0, 0, 0, 0)
call("process_vm_readv", (310, 270), os.getpid(), 0, 0, 0, 0, 0)
call("bpf", (321, 280), 0, 0, 0)
call("perf_event_open", (298, 241), 0, 0, -1, -1, 0)
call("io_uring_setup", (425, 425), 1, 0)
call("keyctl", (250, 219), 0, -3, 0)
call("userfaultfd", (323, 282), 1)
call("syslog", (103, 116), 10, 0, 0)
call("name_to_handle_at", (303, 264), -100, b"/", 0, 0, 0)
call("personality query", (135, 92), 0xffffffff)
call("personality", (135, 92), 0x0040000)
call("newer than the filter", (480, 480))
for name, family, kind, protocol in [("alg", 38, 5, 0), ("vsock", 40, 1, 0), ("packet", 17, 3, 0), ("netlink audit", 16, 3, 9), ("netlink route", 16, 3, 0), ("inet", 2, 1, 0), ("inet6", 10, 1, 0), ("unix", 1, 1, 0)]:
    call(name, (41, 198), family, kind, protocol)
pair = ctypes.create_string_buffer(8)
for name, family in [("unix", 1), ("inet", 2), ("netlink", 16), ("tipc", 30), ("vsock", 40), ("none", 99)]:
    call("pair of " + name, (53, 199), family, 1, 0, pair)
call("TIOCSTI", (16, 29), 0, 0x5412, b"x")
if column == 0: call("x32", (0x40000000 + 39, 0))
`;

describeBubblewrap('the active system call filter', () => {
  describe.each(people)('started by %s', (person) => {
    itNeeding(['python3'], 'refuses the listed system calls inside a sandbox', async () => {
      const { stdout, stderr } = await run(person, 'exec python3 -c "$CODE"', { env: { CODE: attempts } });
      expect(stderr).toBe('');
      const results = Object.fromEntries(
        stdout
          .trim()
          .split('\n')
          .map((line) => [line.slice(0, line.lastIndexOf(' ')), line.split(' ').at(-1)]),
      );
      const refused = ['mount', 'fsopen', 'open_tree', 'unshare', 'unshare nothing', 'clone', 'setns', 'ptrace', 'process_vm_readv', 'bpf'];
      const alsoRefused = [
        'perf_event_open',
        'io_uring_setup',
        'keyctl',
        'userfaultfd',
        'syslog',
        'name_to_handle_at',
        'personality',
        'TIOCSTI',
      ];
      for (const name of [...refused, ...alsoRefused]) expect([name, results[name]]).toEqual([name, 'EPERM']);
      for (const name of ['clone3', 'newer than the filter']) expect([name, results[name]]).toEqual([name, 'ENOSYS']);
      for (const name of ['alg', 'vsock', 'packet', 'netlink audit']) expect([name, results[name]]).toEqual([name, 'EAFNOSUPPORT']);
      for (const name of ['personality query', 'netlink route', 'inet', 'inet6', 'unix'])
        expect([name, results[name]]).toEqual([name, 'ok']);
      for (const name of ['inet', 'netlink', 'tipc', 'vsock', 'none'])
        expect([name, results[`pair of ${name}`]]).toEqual([name, 'EAFNOSUPPORT']);
      expect(results['pair of unix']).toBe('ok');
      expect(results.x32 ?? 'ENOSYS').toBe('ENOSYS');
    });

    it('prevents programs of the system from making a namespace or a mount', async () => {
      const commands = [
        'unshare -U',
        'unshare -r',
        'unshare -n',
        'mount -t tmpfs x /tmp',
        'umount /tmp',
        'chroot /',
        'bwrap --ro-bind / / true',
        'setarch -R true',
      ];
      const script = 'for line in "$@"; do $line > /dev/null 2>&1 < /dev/null && echo "$line"; done; echo end';
      const { stdout } = await run(person, '', { command: ['bash', '-c', script, 'bash', ...commands] });
      expect(stdout).toBe('end\n');
    });
  });
});
