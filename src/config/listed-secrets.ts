import { destinationText } from '../core/egress.ts';
import { secretFlaw, secretSettings } from './bound-secrets.ts';
import type { LoadedConfig } from './load.ts';
import { originText } from './show.ts';

/** A secret that is bound to hosts. JSON, and never the value. */
export interface ListedSecret {
  name: string;
  /** `HOST:PORT` */
  hosts: readonly string[];
  /** The variable inside that holds the placeholder. */
  variable: string;
  /** Where the value is from; null when there is none. */
  value: 'environment' | '.env' | null;
  /** Why the value cannot be used. */
  problem: string | null;
}

export function listedSecrets(loaded: LoadedConfig): ListedSecret[] {
  return secretSettings(loaded.config).map((setting) => {
    const { name, env, inside, destinations } = setting;
    return {
      name,
      hosts: destinations.map(destinationText),
      variable: inside,
      value: loaded.environment[env] === undefined ? null : loaded.dotenvNames.has(env) ? '.env' : 'environment',
      problem: secretFlaw(loaded, setting) ?? null,
    };
  });
}

/** The names of secrets that an earlier version has stored, and that cannot be used. */
export function unusableSecrets({ warnings }: Pick<LoadedConfig, 'warnings'>): string[] {
  return warnings.flatMap(({ key }) => (key?.startsWith('secrets.') ? [key.slice('secrets.'.length)] : []));
}

/** A note for a person who changed `secrets` in config.yaml, when that counts for nothing. */
export function secretsOverride({ origins }: Pick<LoadedConfig, 'origins'>): string | undefined {
  const { secrets: origin } = origins;
  return origin && 'variable' in origin ? `${originText(origin)} is set and overrides config.yaml` : undefined;
}

/** The same for a person who stored a value in `.env`. */
export function valueOverride({ environment, dotenvNames }: LoadedConfig, name: string): string | undefined {
  const isOverridden = environment[name] !== undefined && !dotenvNames.has(name);
  return isOverridden ? `${name} is also set in the environment, which overrides .env` : undefined;
}
