import type { LoadedConfig } from '../config/load.ts';
import { quiet } from '../core/sandbox.ts';
import type { OpenedSandbox } from './open.ts';
import type { SandboxRequest } from './request.ts';
import { resolveSpec, type SpecDeps, specFingerprint } from './spec.ts';

/** How an open sandbox differs from the one the settings would make now. */
export interface Comparison {
  differs: 'not' | 'in variables' | 'in more';
  /** Variables with another value now; blank for those that are gone. */
  env: Readonly<Record<string, string>>;
}

export async function compare(deps: SpecDeps, opened: OpenedSandbox, request: SandboxRequest): Promise<Comparison> {
  const { backend, spec, fingerprint } = opened;
  const now = await resolveSpec(deps, request, backend, quiet);
  if (now.fingerprint === fingerprint) return { differs: 'not', env: {} };
  const gone = Object.fromEntries(Object.keys(spec.env).map((name) => [name, '']));
  const env = Object.fromEntries(Object.entries({ ...gone, ...now.spec.env }).filter(([name, value]) => spec.env[name] !== value));
  const withOldVariables = specFingerprint(deps.installation(), backend, { ...now.spec, env: spec.env });
  return { differs: withOldVariables === fingerprint ? 'in variables' : 'in more', env };
}

/** A comparison reads many files and takes half as long as a short command, so commands in quick succession share one. */
const freshMs = 1_000;

/** For callers that compare before every command. `before` are the settings from before it was opened: they may have changed meanwhile. */
export function comparisonOf(
  deps: SpecDeps,
  opened: OpenedSandbox,
  request: SandboxRequest,
  before: LoadedConfig,
): () => Promise<Comparison> {
  type Answer = { at: number; loaded: LoadedConfig; answer: Comparison };
  let last: Answer = { at: Date.now(), loaded: before, answer: { differs: 'not', env: {} } };
  return async () => {
    const loaded = deps.loaded();
    if (loaded === last.loaded && Date.now() - last.at < freshMs) return last.answer;
    const answer = await compare(deps, opened, request);
    last = { at: Date.now(), loaded, answer };
    return answer;
  };
}
