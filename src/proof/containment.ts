import { HermeticError } from '../core/errors.ts';
import type { Proof } from '../core/proof.ts';
import type { Backend, OpenListener, Sandbox, SandboxSpec } from '../core/sandbox.ts';
import type { ProofEntry, ProofLedger } from '../core/store.ts';
import { proofJson, prove } from './index.ts';

export interface ProofSubject {
  backend: Backend;
  sandbox: Sandbox;
  spec: SandboxSpec;
  fingerprint: string;
  hermeticHome: string;
  engineSockets: readonly string[];
}

/** Proves a sandbox of a spec that was not proven yet, and remembers what came of it. */
export async function ensureProven(
  subject: ProofSubject,
  proofs: ProofLedger,
  listener: OpenListener,
  remember: (proof: Proof) => Promise<void>,
): Promise<boolean> {
  const { backend, fingerprint } = subject;
  const known = await proofs.latest(backend.kind, fingerprint);
  if (known) return known.held;
  listener.progress('proving that the new sandbox contains what runs in it …');
  const proof = await prove({ ...subject, hostAliases: backend.traits.hostAliases });
  await remember(proof);
  return proof.held;
}

export function proofEntry(backend: Backend, fingerprint: string, proof: Proof): ProofEntry {
  const { provenAt, held } = proof;
  return { backend: backend.kind, specHash: fingerprint, provenAt, held, lines: proofJson(proof).lines };
}

export function notContained(backend: Backend): HermeticError {
  return new HermeticError('sandbox/not-contained', `A sandbox of ${backend.kind} with these settings does not contain what runs in it.`, {
    hint: 'hermetic doctor --prove shows which line is broken.',
  });
}
