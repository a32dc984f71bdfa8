import { readFileSync } from 'node:fs';
import { findProgram } from '../programs.ts';
import type { EngineAddress } from './address.ts';
import type { EngineInfo } from './engine.ts';
import { type Here, sharesKernel, thisMachine } from './transport.ts';

/** The program that enters the network namespace of a container; undefined when it is not installed. */
export function namespaceEntrance(): string | undefined {
  return findProgram('nsenter');
}

/** What decides whether this program can enter the network namespaces of an engine's containers. */
export interface RestrictionFacts {
  address: EngineAddress;
  info: EngineInfo;
  /** undefined: the engine's own. */
  runtime: string | undefined;
}

export interface Entrant {
  isRoot: boolean;
  /** Root of a container usually may not. */
  mayEnter: boolean;
  hasEntrance: boolean;
  here: Here;
}

/** Why the network of this engine's containers cannot be restricted, with the remedy; undefined when it can. */
export function restrictionObstacle(facts: RestrictionFacts, entrant: Entrant = thisProgram()): string | undefined {
  const { address, info, runtime = info.DefaultRuntime } = facts;
  const { isRoot, mayEnter, hasEntrance, here } = entrant;
  const instead = 'use the bubblewrap backend';
  if (!sharesKernel(address, info, runtime, here)) {
    if (here.platform !== 'linux' || info.OperatingSystem.includes('Docker Desktop')) {
      return `the engine runs its containers in a virtual machine here, whose networks Hermetic cannot enter (on Linux, ${instead} or Docker Engine without Docker Desktop)`;
    }
    if (address.kind !== 'unix')
      return `the engine is reached over ${address.kind === 'ssh' ? 'ssh' : 'a port'}, and Hermetic can enter only networks of this machine (${instead})`;
    if (info.KernelVersion !== here.kernel) return `the engine runs on another kernel, whose networks Hermetic cannot enter (${instead})`;
    return `the container runtime ${runtime} has networks of its own, which Hermetic cannot enter (use runc, or ${instead})`;
  }
  if (!isRoot) return `only root can enter the network of a container (run Hermetic as root, or ${instead})`;
  if (!mayEnter) return `root lacks the capability CAP_SYS_ADMIN here, as in a container (run Hermetic outside of it, or ${instead})`;
  if (!hasEntrance) return `nsenter is not installed (apt-get install util-linux, or ${instead})`;
  return undefined;
}

function thisProgram(): Entrant {
  return {
    isRoot: process.getuid?.() === 0,
    mayEnter: hasCapability(21),
    hasEntrance: namespaceEntrance() !== undefined,
    here: thisMachine(),
  };
}

/** In the numbers of linux/capability.h. */
function hasCapability(number: number): boolean {
  try {
    const [, effective = '0'] = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
    return ((BigInt(`0x${effective}`) >> BigInt(number)) & 1n) === 1n;
  } catch {
    return false;
  }
}
