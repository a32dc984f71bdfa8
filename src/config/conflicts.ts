import { type Problem, problemAt } from './explain.ts';
import type { Home } from './home.ts';
import type { Origin, Setting } from './setting.ts';

const keysThatLetIn = ['terminal.docker_forward_env', 'terminal.env_passthrough', 'terminal.docker_env'];

/** What is wrong with settings that are fine alone. The last setting of a key counts. */
export function conflictsIn(settings: readonly Setting[], files: Home['files']): Problem[] {
  const winners = new Map(settings.map((setting) => [setting.key.name, setting]));
  const secrets = winners.get('secrets');
  if (!secrets) return [];
  return Object.entries(secrets.value as Record<string, { env?: string; as?: string }>).flatMap(
    ([name, { env = name, as: inside = name }]) =>
      keysThatLetIn.flatMap((key) => {
        const entries = winners.get(key)?.value ?? [];
        const names = Array.isArray(entries) ? entries : Object.keys(entries);
        // Security: the value of a secret must not come in beside the placeholder.
        const both = [name, env, inside].find((variable) => names.includes(variable));
        if (both === undefined) return [];
        const sentence = `secrets.${name}: ${key} also names ${both}, which would take it into the sandbox. A secret never enters: name it in one of them.`;
        return [problemAt(placeOf(secrets.origin, files), 'config/bad-value', sentence, { key: `secrets.${name}` })];
      }),
  );
}

function placeOf(origin: Origin, files: Home['files']) {
  if (origin.source === 'config.yaml') return { file: files.config, line: origin.line };
  if (origin.source === '.env') return { file: files.dotenv, line: origin.line, variable: origin.variable };
  return origin.source === 'environment' ? { variable: origin.variable } : { file: files.config };
}
