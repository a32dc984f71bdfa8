import { HermeticError } from '../core/errors.ts';
import { argumentsOf, controlGroups, environmentOf, lineOf, openPaths, type ProcessFacts, resourceLimit } from '../lib/process-facts.ts';

/** In the environment of every command that runs on the host itself; its value is the name of the sandbox. */
export const sessionVariable = 'HERMETIC_IN_SESSION';

/** Where a process comes from: a command of a session, something else, or it cannot be told. */
export type ProcessOrigin = { kind: 'session' | 'unknown'; why: string } | { kind: 'elsewhere' };

/**
 * Security: the answer to commands that try to answer their own questions. Several signs count, each of which survives what removes another: see
 * docs/sandboxes/local.md. Nothing here stops a program that was written to remove all of them. `gateway` is the process of the one that runs.
 * Without `strays` a process that carries no sign, and whose origin is unknown, counts as one from elsewhere.
 */
export function originOf(pid: number, gateway?: number, { strays = true } = {}): ProcessOrigin {
  // Only Linux runs sessions on the host itself.
  if (process.platform !== 'linux') return { kind: 'elsewhere' };
  const line = lineOf(pid);
  if (!line) return { kind: 'unknown', why: 'the list of processes cannot be read' };
  for (const one of line) {
    const why = signOf(one) ?? (one.pid === gateway && isBelow(line, one, strays) ? 'the gateway is above it' : undefined);
    if (why !== undefined) return { kind: 'session', why };
  }
  // Only its own: a program above may be one that has sandboxes open.
  if (openPaths(pid)?.some((path) => pipePattern.test(path))) return { kind: 'session', why: 'the pipes it has open' };
  return strays && gateway !== undefined && isStray(line, gateway)
    ? { kind: 'unknown', why: 'it has no terminal, and what started it is gone' }
    : { kind: 'elsewhere' };
}

/** In a container the gateway may be process 1, below which also a person's programs come to be when what started them ends. */
function isBelow([first]: readonly ProcessFacts[], gateway: ProcessFacts, strays: boolean): boolean {
  if (first === undefined || first.pid === gateway.pid) return false;
  return gateway.pid !== 1 || (strays && !first.hasTerminal);
}

function signOf(one: ProcessFacts): string | undefined {
  if (environmentOf(one.pid).some((entry) => entry.startsWith(`${sessionVariable}=`))) return 'its environment';
  if (hasMark(one.pid)) return 'its resource limits';
  if (isForker(one.pid)) return 'the process that starts commands of a session is above it';
  if (one.session > 1 && one.session !== one.pid && isForker(one.session)) return 'its terminal session';
  return groupPattern.test(controlGroups(one.pid) ?? '') ? 'its control group' : undefined;
}

/** Of a sandbox of an installation. */
const groupPattern = /\/hermetic\/[0-9a-f]{16}\/[^/\n]+/;
/** Of a shell, in the run directory of a sandbox. */
const pipePattern = /\/run\/[^/]+\/[^/]+\/\d+\.(?:in|out|err|end|state|ack)(?: \(deleted\))?$/;
/** Far above every limit of resident memory that a person would set. */
const hugeBytes = 2 ** 59;

/** Security: commands carry numbers as limits that Linux does not use and people do not set, so any number counts, also one that was changed. */
function hasMark(pid: number): boolean {
  const locks = resourceLimit(pid, 'Max file locks');
  if (locks && Math.min(locks.soft, locks.hard) !== Number.POSITIVE_INFINITY) return true;
  const memory = resourceLimit(pid, 'Max resident set');
  return memory !== undefined && [memory.soft, memory.hard].some((value) => value >= hugeBytes && value !== Number.POSITIVE_INFINITY);
}

function isForker(pid: number): boolean {
  const [program = '', script = ''] = argumentsOf(pid);
  return /(?:^|\/)bash$/.test(program) && script.endsWith('/forker.bash');
}

/**
 * Whether a process without a terminal may have been left behind by a command that has ended: the branch it is on began after the gateway and
 * beside it, in the same control group, and in a terminal session of its own. Daemons of the machine are older or in other control groups, and what
 * a person's script starts shares the script's session.
 */
function isStray(line: readonly ProcessFacts[], gateway: number): boolean {
  const above = new Map(lineOf(gateway)?.map((one) => [one.pid, one]));
  const at = line.findIndex(({ pid }) => above.has(pid));
  const [shared, branch, own] = [line[at], line[at - 1], above.get(gateway)];
  if (!shared || !branch || !own || line.slice(0, at + 1).some(({ hasTerminal }) => hasTerminal)) return false;
  const isBeside = controlGroups(branch.pid) === controlGroups(gateway) && branch.session !== shared.session;
  return isBeside && branch.startedAt >= own.startedAt;
}

/** The refusal for a program that was taken for a command of a session. */
export function refusedOrigin(what: string, { kind, why }: Exclude<ProcessOrigin, { kind: 'elsewhere' }>): HermeticError {
  const sentence =
    kind === 'session'
      ? `a command of a session started this (${why})`
      : `it is unknown whether a command of a session started this: ${why}`;
  return new HermeticError('approval/own-session', `${what} is refused: ${sentence}.`, {
    hint: 'Use your own terminal. A command of a session must not answer its own questions or change its own rights.',
  });
}
