import type { App } from '../app/app.ts';
import { platformChannels } from '../app/channels.ts';
import { secretProblems } from '../config/bound-secrets.ts';
import { rulesWithoutEffect } from '../config/egress-rules.ts';
import { problemsError } from '../config/explain.ts';
import type { Audience } from '../config/sandbox-settings.ts';
import { HermeticError } from '../core/errors.ts';
import { type Backend, quiet } from '../core/sandbox.ts';
import { refuseInTheClear } from '../http/site.ts';
import { assertSupported, checkedVolumes, configuredSpec, networkFor } from '../sandboxes/spec.ts';

/** Settings that have no effect, and those that `start` or `run` will refuse, as far as that is known without asking an engine or a platform. */
export async function configWarnings(app: App): Promise<HermeticError[]> {
  const { web } = app.loaded.config;
  const checks = [
    () => checkSandboxes(app, 'cli'),
    () => checkSandboxes(app, 'messaging'),
    () => void platformChannels(app.loaded, () => undefined),
    () => (web.enabled ? refuseInTheClear({ host: web.host, behindTls: web.behind_tls, publicUrl: web.public_url }) : undefined),
  ];
  const known = [
    ...app.loaded.warnings.map((warning) => problemsError([warning])),
    ...[...rulesWithoutEffect(app.loaded.config), ...secretProblems(app.loaded)].map(
      (sentence) => new HermeticError('config/bad-value', sentence),
    ),
  ];
  const found = new Map<string, HermeticError>(known.map((error) => [error.message, error]));
  for (const check of checks) {
    try {
      await check();
    } catch (error) {
      if (!(error instanceof HermeticError)) throw error;
      found.set(error.message, error);
    }
  }
  return [...found.values()];
}

/** Those of the backend that is tried first. */
async function checkSandboxes(app: App, audience: Audience): Promise<void> {
  const candidates = app.candidates(app.settings(audience).backend);
  const [backend] = candidates;
  if (!backend) return;
  const spec = configuredSpec(app.deps, { audience, parts: ['check'], title: 'check' }, backend, quiet);
  assertSupported(backend, spec);
  if (app.loaded.config.terminal.network === 'restricted') await checkRestriction(app, audience, candidates);
  await checkedVolumes(app.loaded, spec.mounts);
}

/** Throws the reason of the first backend when none can restrict the network. */
async function checkRestriction(app: App, audience: Audience, candidates: readonly Backend[]): Promise<void> {
  const tries = await Promise.allSettled(candidates.map(async (backend) => await networkFor(app.loaded.config, audience, backend)));
  const [first] = tries;
  if (first?.status === 'rejected' && tries.every(({ status }) => status === 'rejected')) throw first.reason;
}
