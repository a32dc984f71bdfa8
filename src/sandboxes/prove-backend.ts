import { randomUUID } from 'node:crypto';
import type { Audience } from '../config/sandbox-settings.ts';
import type { Proof } from '../core/proof.ts';
import { type Backend, quiet } from '../core/sandbox.ts';
import type { ProofEntry } from '../core/store.ts';
import { proveOpened } from './containment.ts';
import { openOn, type SandboxDeps } from './open.ts';
import { resolveSpec } from './spec.ts';

/** Proves sandboxes of these settings anew, with a sibling beside it, and remembers the result. Both are gone afterwards. */
export async function proveBackend(deps: SandboxDeps, backend: Backend, audience: Audience): Promise<Proof> {
  const open = (title: string) =>
    openOn(deps, { audience, parts: ['proof', title, randomUUID()], title, isEphemeral: true }, backend, quiet);
  const subject = await open('proof');
  try {
    const sibling = await open('sibling of a proof');
    try {
      return await proveOpened(deps, subject, sibling);
    } finally {
      await sibling.sandbox.destroy();
    }
  } finally {
    await subject.sandbox.destroy();
  }
}

/** undefined when no sandbox with these settings was ever proven. */
export async function latestProof(deps: SandboxDeps, backend: Backend, audience: Audience): Promise<ProofEntry | undefined> {
  const { fingerprint } = await resolveSpec(deps, { audience, parts: ['proof'], title: 'proof' }, backend, quiet);
  return await (await deps.store()).proofs.latest(backend.kind, fingerprint);
}
