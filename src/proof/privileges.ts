import { release } from 'node:os';
import type { ProofLine } from '../core/proof.ts';
import { type Ground, line, type Promises, unanswered } from './ground.ts';
import { namespaceKinds } from './host-view.ts';

/** By bit. */
const capabilityNames = [
  ...['CHOWN', 'DAC_OVERRIDE', 'DAC_READ_SEARCH', 'FOWNER', 'FSETID', 'KILL', 'SETGID', 'SETUID', 'SETPCAP', 'LINUX_IMMUTABLE'],
  ...['NET_BIND_SERVICE', 'NET_BROADCAST', 'NET_ADMIN', 'NET_RAW', 'IPC_LOCK', 'IPC_OWNER', 'SYS_MODULE', 'SYS_RAWIO', 'SYS_CHROOT'],
  ...['SYS_PTRACE', 'SYS_PACCT', 'SYS_ADMIN', 'SYS_BOOT', 'SYS_NICE', 'SYS_RESOURCE', 'SYS_TIME', 'SYS_TTY_CONFIG', 'MKNOD', 'LEASE'],
  ...['AUDIT_WRITE', 'AUDIT_CONTROL', 'SETFCAP', 'MAC_OVERRIDE', 'MAC_ADMIN', 'SYSLOG', 'WAKE_ALARM', 'BLOCK_SUSPEND', 'AUDIT_READ'],
  ...['PERFMON', 'BPF', 'CHECKPOINT_RESTORE'],
];
const capabilitySets = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'];

interface Value {
  /** One for each process that was looked at. */
  values: string[];
  /** For the end of a sentence. */
  seenBy: string;
}

/** The kernel's view of the sandbox's first process and of the probe, else the probe's own report. */
function statusValue({ host, inside }: Ground, name: string): Value | undefined {
  const seen = [host?.probe, host?.init].flatMap((process) => process?.status.get(name) ?? []);
  if (seen.length > 0) return { values: [...new Set(seen)], seenBy: ', as the host sees it' };
  const told = inside.fact(`status-${name}`);
  return told === undefined ? undefined : { values: [told], seenBy: ', as it is told inside' };
}

export function checkCapabilities(ground: Ground, { capabilities }: Promises): ProofLine {
  const tried = 'Read which capabilities it has or could get.';
  const check = 'capabilities';
  const sets = capabilitySets.map((name) => statusValue(ground, name));
  const masks = sets.flatMap((set) => set?.values ?? []);
  if (sets.some((set) => set === undefined) || !masks.every((mask) => /^[0-9a-f]{16}$/i.test(mask))) return unanswered(check, tried);
  const names = namesIn(masks.reduce((all, mask) => all | BigInt(`0x${mask}`), 0n));
  const excess = names.filter((name) => !capabilities.includes(name));
  const seenBy = sets[0]?.seenBy ?? '';
  if (excess.length > 0) return line(check, tried, 'broken', `More than documented: ${excess.join(', ')}${seenBy}.`);
  return line(check, tried, 'held', `${names.length === 0 ? 'None' : `Only the documented ${names.join(', ')}`}${seenBy}.`);
}

function namesIn(mask: bigint): string[] {
  return [...mask.toString(2)].reverse().flatMap((bit, index) => (bit === '1' ? [capabilityNames[index] ?? `number ${index}`] : []));
}

export function checkNewPrivileges(ground: Ground): ProofLine {
  const tried = 'Gain privileges through a program that has them (set-user-id, file capabilities).';
  const check = 'no-new-privileges';
  const value = statusValue(ground, 'NoNewPrivs');
  if (!value?.values.every((each) => /^[01]$/.test(each))) return unanswered(check, tried);
  if (value.values.includes('0')) return line(check, tried, 'broken', `The kernel would allow it${value.seenBy}.`);
  return line(check, tried, 'held', `The kernel refuses it to every process${value.seenBy}.`);
}

export function checkSeccomp(ground: Ground): ProofLine {
  const tried = 'Find out whether system calls are filtered.';
  const check = 'seccomp';
  const value = statusValue(ground, 'Seccomp');
  if (!value?.values.every((each) => /^[012]$/.test(each))) return unanswered(check, tried);
  if (value.values.every((each) => each === '2')) return line(check, tried, 'held', `A filter is in force${value.seenBy}.`);
  const kernel = ground.inside.fact('kernel');
  if (!ground.host && kernel !== undefined && kernel !== release()) {
    return line(check, tried, 'unknown', `No filter is told of, but it runs on another kernel (${kernel}), which is a barrier of its own.`);
  }
  return line(check, tried, 'broken', `No filter is in force${value.seenBy}.`);
}

export function checkNamespaces({ host, inside }: Ground, { namespaces }: Promises): ProofLine {
  const tried = "Find a namespace that is the host's own.";
  const check = 'namespaces';
  const kinds = namespaceKinds.map((kind) => {
    const seen = host?.init.namespaces.get(kind);
    const own = host?.namespaces.get(kind);
    const [here, there] = seen === undefined ? [own, inside.fact(`namespace-${kind}`)] : [own, seen];
    return { kind, here, there, isSeen: seen !== undefined };
  });
  const needed = kinds.filter(({ kind }) => namespaces.includes(kind));
  const shared = needed.filter(({ here, there }) => here !== undefined && here === there);
  if (shared.length > 0) return line(check, tried, 'broken', `Shared with the host: ${shared.map(({ kind }) => kind).join(', ')}.`);
  if (needed.some(({ here, there }) => here === undefined || there === undefined)) {
    if (host || needed.some(({ there }) => there === undefined)) return unanswered(check, tried);
    return line(check, tried, 'unknown', 'This machine does not see the processes of the sandbox, so there is nothing to compare with.');
  }
  const own = kinds.filter(({ here, there }) => there !== undefined && here !== there).map(({ kind }) => kind);
  const seenBy = needed.every(({ isSeen }) => isSeen) ? 'as the host sees it' : 'as it is told inside';
  return line(check, tried, 'held', `It has its own: ${own.join(', ')}, ${seenBy}.`);
}

export function checkUser(ground: Ground, { root }: Promises): ProofLine {
  const tried = 'Find out which user of the host it is.';
  const check = 'user';
  const { host, inside } = ground;
  const seen = [host?.probe, host?.init].flatMap((process) => process?.status.get('Uid') ?? []);
  const users = seen.length > 0 ? seen.map((line) => Number(line.split(/\s+/)[0])) : toldUser(ground);
  if (users === undefined || users.some((user) => !Number.isInteger(user))) return unanswered(check, tried);
  const seenBy = seen.length > 0 ? 'as the host sees it' : 'as it is told inside';
  if (users.includes(0)) {
    const happened = `It is root of this machine to the kernel, ${seenBy}: without a user namespace it is the capabilities that hold it.`;
    return line(check, tried, root, happened);
  }
  const isOurs = users.includes(process.getuid?.() ?? -1);
  const told = inside.fact('status-Uid')?.split(/\s+/)[0];
  const happened = `It is the unprivileged user ${[...new Set(users)].join(', ')}${isOurs ? ', who runs Hermetic,' : ''} ${seenBy}${told === undefined ? '' : `; inside it is ${told}`}.`;
  return line(check, tried, 'held', happened);
}

/** The user of the host behind the probe's own, by the map it tells. */
function toldUser({ inside }: Ground): number[] | undefined {
  const user = Number(inside.fact('status-Uid')?.split(/\s+/)[0] ?? Number.NaN);
  for (const row of inside.facts.get('user-map') ?? []) {
    const [first = 0, outside = 0, count = 0] = row.trim().split(/\s+/).map(Number);
    if (user >= first && user < first + count) return [outside + user - first];
  }
  return undefined;
}

export async function checkUserNamespaces(ground: Ground, { root }: Promises): Promise<ProofLine> {
  const tried = 'Make a user namespace, in which it would be root.';
  const check = 'user-namespaces';
  const answer = await ground.inside.ask('user-namespace');
  switch (answer?.outcome) {
    case 'refused':
      return line(check, tried, 'held', `It was refused: ${answer.detail}.`);
    case 'allowed':
      return line(check, tried, root, 'It was allowed.');
    case 'failed':
      return line(check, tried, 'unknown', `It could not be tried: ${answer.detail}.`);
    default:
      return unanswered(check, tried);
  }
}
