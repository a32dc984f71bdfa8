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

/** What is wrong with the value of a secret, to complete "the value …". Security: shows no part of it. undefined: nothing is. */
export function valueFlaw(value: string): string | undefined {
  if (value.length < minLength) return `is shorter than ${minLength} characters`;
  if (value.length > maxLength) return `is longer than ${maxLength} characters`;
  const isPrintable = /^[\x20-\x7e]+$/.test(value) && value.trim() === value;
  return isPrintable ? undefined : 'has characters that no header can carry (it takes printable ASCII, with no blank at either end)';
}

/** A sentence about a value that cannot be used; undefined when it can, or there is none. */
export function secretFlaw({ environment }: Pick<LoadedConfig, 'environment'>, { name, env }: SecretSetting): string | undefined {
  const value = environment[env];
  const flaw = value === undefined ? undefined : valueFlaw(value);
  return flaw && `secrets.${name} cannot be used: the value of ${env} ${flaw}.`;
}

/** Those that have a value that can be used. */
export function usableSecrets(loaded: Pick<LoadedConfig, 'config' | 'environment'>): SecretSetting[] {
  return secretSettings(loaded.config).filter((setting) => loaded.environment[setting.env] !== undefined && !secretFlaw(loaded, setting));
}

/** A sentence about each secret that has no value. Sandboxes open without it. */
export function missingSecrets({ config, environment }: Pick<LoadedConfig, 'config' | 'environment'>): string[] {
  return secretSettings(config)
    .filter(({ env }) => environment[env] === undefined)
    .map(({ name, env }) => `secrets.${name} has no value: ${env} is neither in the environment nor in .env. Sandboxes open without it.`);
}

/** A sentence about each secret that has no value, or one that cannot be used. */
export function secretProblems(loaded: Pick<LoadedConfig, 'config' | 'environment'>): string[] {
  const flaws = secretSettings(loaded.config).flatMap((setting) => secretFlaw(loaded, setting) ?? []);
  return [...flaws.map((flaw) => `${flaw} Sandboxes with a restricted network do not open.`), ...missingSecrets(loaded)];
}
