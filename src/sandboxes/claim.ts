import { nameSession } from '../backends/sandbox-directory.ts';
import { quiet } from '../core/sandbox.ts';
import { candidates, type OpenedSandbox, type SandboxDeps } from './open.ts';
import { type SandboxRequest, sandboxName } from './request.ts';
import { copyCredentialsFor, hasFiles, resolveSpec } from './spec.ts';

/**
 * Gives a spare to a session that has no sandbox. Resolves with undefined, and leaves the spare as it was, when the session has a sandbox or would be
 * opened with another spec.
 */
export async function claimSpare<Spare extends OpenedSandbox>(
  deps: SandboxDeps,
  spare: Spare,
  request: SandboxRequest,
): Promise<Spare | undefined> {
  const { backend, fingerprint } = spare;
  const { parts } = request;
  const all = candidates(deps, request);
  const derived = sandboxName(deps.installation(), parts);
  if (!all.includes(backend) || all.some((other) => hasFiles(deps, other, derived))) return undefined;
  const { spec, fingerprint: wanted } = await resolveSpec(deps, request, backend, quiet, spare.spec.name);
  const { sandboxes, proofs } = await deps.store();
  // Security: a proof may have broken since the spare was made.
  const isProven = backend.traits.isolation === 'none' || (await proofs.latest(backend.kind, fingerprint))?.held === true;
  if (wanted !== fingerprint || !isProven) return undefined;
  await copyCredentialsFor(deps, backend, spec);
  if (!(await sandboxes.claim({ backend: backend.kind, name: spec.name }, parts))) return undefined;
  await nameSession(spec);
  deps.note({ backend, spec }, parts, 'claimed');
  return { ...spare, spec };
}
