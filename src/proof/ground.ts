import type { ProofLine, Verdict } from '../core/proof.ts';
import type { SandboxSpec, Traits } from '../core/sandbox.ts';
import { printable } from '../lib/printable.ts';
import type { HostView } from './host-view.ts';
import type { Inside } from './inside.ts';

/** The facts that every check uses. */
export interface Ground {
  inside: Inside;
  /** undefined when this machine does not see the sandbox's processes. */
  host: HostView | undefined;
  spec: SandboxSpec;
  /** Whether the network is meant to lead anywhere without asking us. */
  isNetworkOpen: boolean;
}

const maxCharacters = 400;

/** Security: text from inside may be a whole book. */
export function shortPrintable(text: string): string {
  const clean = printable(text);
  return clean.length > maxCharacters ? `${clean.slice(0, maxCharacters)}…` : clean;
}

export function line(check: string, tried: string, verdict: Verdict, happened: string): ProofLine {
  return { check, tried, happened: shortPrintable(happened), verdict };
}

/** For a question that was not answered, or not in a way that means anything. */
export function unanswered(check: string, tried: string): ProofLine {
  return line(check, tried, 'unknown', 'The probe gave no answer to that.');
}

/** The promises of a sandbox that shares the host's kernel. */
export interface Promises {
  capabilities: readonly string[];
  namespaces: readonly string[];
  /** When root inside is root of this machine, and when a process inside can become root of a namespace. */
  root: Extract<Verdict, 'broken' | 'open'>;
  /** The sandbox may write to its whole file system, because that is its own. */
  hasRootFileSystem: boolean;
}

type KernelIsolation = 'process' | 'container';

const promisesBy: Readonly<Record<KernelIsolation, Omit<Promises, 'hasRootFileSystem'>>> = {
  process: { capabilities: [], namespaces: ['mnt', 'pid', 'net', 'ipc', 'uts', 'user'], root: 'broken' },
  container: {
    capabilities: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'SETGID', 'SETUID'],
    namespaces: ['mnt', 'pid', 'net', 'ipc', 'uts'],
    // Whether containers have a user namespace is for the engine to say.
    root: 'open',
  },
};

export function promisesOf(isolation: KernelIsolation, { honours }: Pick<Traits, 'honours'>): Promises {
  return { ...promisesBy[isolation], hasRootFileSystem: isolation === 'container' || honours.image === true };
}
