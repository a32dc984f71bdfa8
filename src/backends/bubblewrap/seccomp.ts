import { HermeticError } from '../../core/errors.ts';
import { judgedCalls, newestCall, refusedCalls } from '../namespaces/syscalls.ts';

type Architecture = 'x64' | 'arm64';

const auditArchitecture: Record<Architecture, number> = { x64: 0xc000003e, arm64: 0xc00000b7 };

const load = 0x20; // BPF_LD | BPF_W | BPF_ABS
const and = 0x54; // BPF_ALU | BPF_AND | BPF_K
const jumpIfEqual = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const jumpIfAtLeast = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const giveBack = 0x06; // BPF_RET | BPF_K

const numberOffset = 0;
const architectureOffset = 4;
/** The kernel takes these arguments as 32 bits wide. Security: so only the low half is compared, or junk in the high half would get past. */
const argumentOffset = (index: number): number => 16 + 8 * index;

const verdicts = {
  allow: 0x7fff0000,
  kill: 0x80000000,
  eperm: 0x00050000 | 1,
  enosys: 0x00050000 | 38,
  eafnosupport: 0x00050000 | 97,
} as const;

type Verdict = keyof typeof verdicts;
type Instruction = { code: number; value: number; yes?: Verdict | number; no?: Verdict | number };

const cloneNewNamespace = 0x7e020000; // CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
const x32Bit = 0x40000000;
const [unixFamily, internetFamily, internet6Family, netlinkFamily] = [1, 2, 10, 16];
const netlinkRoute = 0;
const [pushBackInput, linuxConsole] = [0x5412, 0x541c]; // TIOCSTI, TIOCLINUX
const [personalityDefault, personalityQuery] = [0, 0xffffffff];

/** A classic BPF program in the form `bwrap --seccomp` reads: an array of `struct sock_filter`. */
export function seccompFilter(architecture: string = process.arch): Buffer {
  if (architecture !== 'x64' && architecture !== 'arm64') {
    // Security: without a filter for this processor there is no sandbox, rather than one without a filter.
    throw new HermeticError('backend/unavailable', `No system call filter exists for the processor architecture ${architecture}.`, {
      hint: 'Use the docker backend.',
    });
  }
  return encode(program(architecture));
}

function program(architecture: Architecture): Instruction[] {
  const column = architecture === 'x64' ? 0 : 1;
  const number = (name: keyof typeof judgedCalls): number => judgedCalls[name][column];

  /** Runs `body` when the call has this number; `body` ends in a verdict on every way through. */
  const judge = (name: keyof typeof judgedCalls, body: Instruction[]): Instruction[] => [
    { code: jumpIfEqual, value: number(name), no: body.length },
    ...body,
  ];
  const verdict = (name: Verdict): Instruction => ({ code: giveBack, value: verdicts[name] });

  return [
    { code: load, value: architectureOffset },
    // Security: the numbers below mean other calls on another architecture, such as 32-bit code on a 64-bit kernel.
    { code: jumpIfEqual, value: auditArchitecture[architecture], no: 'kill' },
    { code: load, value: numberOffset },
    // Security: x32 numbers are the same calls under another name.
    ...(architecture === 'x64' ? [{ code: jumpIfAtLeast, value: x32Bit, yes: 'enosys' } as const] : []),
    // Security: a call newer than the tables cannot be judged; programs take ENOSYS for an older kernel.
    { code: jumpIfAtLeast, value: newestCall + 1, yes: 'enosys' },
    ...Object.values(refusedCalls)
      .map((numbers) => numbers[column])
      .filter((value) => value !== undefined)
      .map((value): Instruction => ({ code: jumpIfEqual, value, yes: 'eperm' })),
    // Security: the flags of clone3 are in memory, where a filter cannot look. The C library falls back to clone.
    { code: jumpIfEqual, value: number('clone3'), yes: 'enosys' },
    ...judge('clone', [
      { code: load, value: argumentOffset(0) },
      { code: and, value: cloneNewNamespace },
      { code: jumpIfEqual, value: 0, yes: 'allow', no: 'eperm' },
    ]),
    // Other personalities switch off address randomisation and null page protection.
    ...judge('personality', [
      { code: load, value: argumentOffset(0) },
      { code: jumpIfEqual, value: personalityDefault, yes: 'allow' },
      { code: jumpIfEqual, value: personalityQuery, yes: 'allow', no: 'eperm' },
    ]),
    // Everything but ordinary networking, which keeps AF_ALG, AF_VSOCK, AF_PACKET and their like from loading kernel modules.
    // The answer is that of a kernel without them: programs that only look, as for auditing, carry on.
    ...judge('socket', [
      { code: load, value: argumentOffset(0) },
      { code: jumpIfEqual, value: unixFamily, yes: 'allow' },
      { code: jumpIfEqual, value: internetFamily, yes: 'allow' },
      { code: jumpIfEqual, value: internet6Family, yes: 'allow' },
      { code: jumpIfEqual, value: netlinkFamily, no: 'eafnosupport' },
      { code: load, value: argumentOffset(2) },
      { code: jumpIfEqual, value: netlinkRoute, yes: 'allow', no: 'eafnosupport' },
    ]),
    // Security: the families that `socket` refuses come in pairs as well (TIPC, for example). Only AF_UNIX pairs are in ordinary use.
    ...judge('socketpair', [
      { code: load, value: argumentOffset(0) },
      { code: jumpIfEqual, value: unixFamily, yes: 'allow', no: 'eafnosupport' },
    ]),
    // Both put input on a terminal as if its user had typed it.
    ...judge('ioctl', [
      { code: load, value: argumentOffset(1) },
      { code: jumpIfEqual, value: pushBackInput, yes: 'eperm' },
      { code: jumpIfEqual, value: linuxConsole, yes: 'eperm', no: 'allow' },
    ]),
    verdict('allow'),
  ];
}

/** Verdicts that are jumped to go to the end of the program, and named jumps become distances. */
function encode(instructions: Instruction[]): Buffer {
  const names = Object.keys(verdicts) as Verdict[];
  const all = [...instructions, ...names.map((name): Instruction => ({ code: giveBack, value: verdicts[name] }))];
  const bytes = Buffer.alloc(all.length * 8);
  for (const [at, { code, value, yes, no }] of all.entries()) {
    const distance = (to: Verdict | number | undefined): number =>
      typeof to === 'string' ? instructions.length + names.indexOf(to) - at - 1 : (to ?? 0);
    bytes.writeUInt16LE(code, at * 8);
    // Throws on a distance above 255, so a program that grew too long cannot be loaded by mistake.
    bytes.writeUInt8(distance(yes), at * 8 + 2);
    bytes.writeUInt8(distance(no), at * 8 + 3);
    bytes.writeUInt32LE(value >>> 0, at * 8 + 4);
  }
  return bytes;
}
