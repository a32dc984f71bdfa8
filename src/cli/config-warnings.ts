import type { App } from '../app/app.ts';
import { platformChannels } from '../app/channels.ts';
import { problemsError } from '../config/explain.ts';
import type { Audience } from '../config/sandbox-settings.ts';
import { HermeticError } from '../core/errors.ts';
import { quiet } from '../core/sandbox.ts';
import { refuseInTheClear } from '../http/site.ts';
import { assertSupported, checkedVolumes, configuredSpec, networkFor } from '../sandboxes/spec.ts';

/** Settings that `start` or `run` will refuse, as far as that is known without asking an engine or a platform. */
export async function configWarnings(app: App): Promise<HermeticError[]> {
  const { web } = app.loaded.config;
  const checks = [
    () => checkSandboxes(app, 'cli'),
    () => checkSandboxes(app, 'messaging'),
    () => void platformChannels(app.loaded, () => undefined),
    () => (web.enabled ? refuseInTheClear({ host: web.host, behindTls: web.behind_tls, publicUrl: web.public_url }) : undefined),
  ];
  const unused = app.loaded.warnings.map((warning) => problemsError([warning]));
  const found = new Map<string, HermeticError>(unused.map((error) => [error.message, error]));
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
  const [backend] = app.candidates(app.settings(audience).backend);
  if (!backend) return;
  const spec = configuredSpec(app.deps, { audience, parts: ['check'], title: 'check' }, backend, quiet);
  assertSupported(backend, spec);
  await networkFor(app.loaded.config, audience, backend);
  await checkedVolumes(app.loaded, spec.mounts);
}
