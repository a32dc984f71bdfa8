import { type Audience, engineSockets } from '../config/sandbox-settings.ts';
import { HermeticError } from '../core/errors.ts';
import type { Proof } from '../core/proof.ts';
import type { Backend, OpenListener } from '../core/sandbox.ts';
import { hermetic } from '../lib/own-command.ts';
import { type ProofOptions, proofJson, prove } from '../proof/index.ts';
import type { OpenedSandbox, SandboxDeps } from './open.ts';

/**
 * Proves a sandbox of a spec that was not proven yet. Stops the sandbox when it throws.
 * Security: people in chats never get a sandbox whose proof broke. A person at the terminal is told and decides.
 */
export async function ensureContained(deps: SandboxDeps, opened: OpenedSandbox, audience: Audience, listener: OpenListener): Promise<void> {
  const { backend, sandbox } = opened;
  if (backend.traits.isolation === 'none') return;
  try {
    if (await isProven(deps, opened, listener)) return;
    const error = notContained(backend);
    if (audience === 'messaging') throw error;
    listener.notice(`${error.message} ${error.hint}`);
  } catch (error) {
    await sandbox.stop();
    throw error;
  }
}

async function isProven(deps: SandboxDeps, opened: OpenedSandbox, listener: OpenListener): Promise<boolean> {
  const { proofs } = await deps.store();
  const known = await proofs.latest(opened.backend.kind, opened.fingerprint);
  if (known) return known.held;
  listener.progress('proving the containment of the new sandbox …');
  return (await proveOpened(deps, opened)).held;
}

/** Proves an open sandbox, and remembers the result for all of its spec. */
export async function proveOpened(deps: SandboxDeps, opened: OpenedSandbox, sibling?: ProofOptions['sibling']): Promise<Proof> {
  const { backend, fingerprint } = opened;
  const loaded = deps.loaded();
  const host = { hermeticHome: loaded.home, engineSockets: engineSockets(loaded), hostAliases: backend.traits.hostAliases };
  const secretValues = deps.secrets.vault()?.secrets.map(({ value }) => value);
  const proof = await prove({ ...opened, sibling, ...host, secretValues });
  const { provenAt, held } = proof;
  const { proofs } = await deps.store();
  await proofs.record({ backend: backend.kind, specHash: fingerprint, provenAt, held, lines: proofJson(proof).lines });
  await deps.onProof();
  return proof;
}

function notContained(backend: Backend): HermeticError {
  return new HermeticError('sandbox/not-contained', `The ${backend.kind} sandbox failed its containment proof with these settings.`, {
    hint: `${hermetic} doctor --prove shows which check failed.`,
  });
}
