import type { BoundSecret, Destination } from '../core/egress.ts';
import { credentialHeaders } from '../egress/bound-secret.ts';
import type { LoadedConfig } from './load.ts';
import type { Config } from './schema.ts';
import { parseSecretHost } from './sections/secrets.ts';

/** One entry of `secrets`, with its defaults. */
export interface SecretSetting extends Omit<BoundSecret, 'value' | 'placeholder'> {
  /** The variable with the value, of the environment or `.env`. */
  env: string;
  /** The variable with the placeholder, in sandboxes. */
  inside: string;
  /** undefined: as the value begins. */
  prefix: string | undefined;
}

export function secretSettings({ secrets }: Config): SecretSetting[] {
  return Object.entries(secrets).map(([name, { hosts, env = name, as: inside = name, headers, query, path, prefix, exclusive }]) => ({
    name,
    env,
    inside,
    destinations: hosts.map(parseSecretHost).filter((destination): destination is Destination => typeof destination !== 'string'),
    headers: (headers ?? credentialHeaders).map((header) => header.toLowerCase()),
    query,
    path,
    prefix,
    exclusive,
  }));
}

const minLength = 8;
/** Servers refuse longer headers. */
const maxLength = 8_192;

/** Security: a sentence says what is wrong with a value and shows no part of it. undefined: nothing is. */
export function secretFlaw({ environment }: Pick<LoadedConfig, 'environment'>, { name, env }: SecretSetting): string | undefined {
  const value = environment[env];
  if (value === undefined) return undefined;
  const flaw =
    value.length < minLength
      ? `is shorter than ${minLength} characters`
      : value.length > maxLength
        ? `is longer than ${maxLength} characters`
        : /^[\x20-\x7e]+$/.test(value) && value.trim() === value
          ? undefined
          : 'has characters that no header can carry (only printable ASCII can be, with no blank at either end)';
  return flaw && `secrets.${name} cannot be used: the value of ${env} ${flaw}.`;
}

/** A sentence about each secret that has no value. Sandboxes open without it. */
export function missingSecrets({ config, environment }: Pick<LoadedConfig, 'config' | 'environment'>): string[] {
  return secretSettings(config)
    .filter(({ env }) => environment[env] === undefined)
    .map(({ name, env }) => `secrets.${name} has no value: ${env} is neither in the environment nor in .env. Sandboxes open without it.`);
}
