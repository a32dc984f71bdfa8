import { isDeepStrictEqual } from 'node:util';
import { missingSecrets, type SecretSetting, secretFlaw, secretSettings, usableSecrets } from '../config/bound-secrets.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { BoundSecret, Vault } from '../core/egress.ts';
import { HermeticError } from '../core/errors.ts';
import type { Mount, Network, OpenListener } from '../core/sandbox.ts';
import { placeholderFor } from '../egress/bound-secret.ts';
import { hermetic } from '../lib/own-command.ts';
import { type Authorities, readAuthorities, type Trust, trustIn } from './trust.ts';

/** What a sandbox is given for its secrets. It has no value in it. */
export interface SecretsInside {
  mounts: readonly Mount[];
  /** Variables of the user win over these. */
  trustEnv: Readonly<Record<string, string>>;
  /** By variable. They win over every other variable. */
  placeholders: Readonly<Record<string, string>>;
}

const nothing: SecretsInside = { mounts: [], trustEnv: {}, placeholders: {} };

/** The certificate authority is looked at anew after so long: it is renewed while a program runs. */
const dayMs = 24 * 60 * 60 * 1000;

interface Kept {
  loaded: LoadedConfig;
  at: number;
  vault: Vault;
  authorities: Authorities;
  placeholders: SecretsInside['placeholders'];
  /** Of the files for sandboxes, once they are written. */
  trust?: Trust;
}

/** The secrets of the configuration. Files of the certificate authority are made when the first secret has a value, and not before. */
export class SandboxSecrets {
  readonly #loaded: () => LoadedConfig;
  readonly #onChange: () => void;
  #kept: Kept | undefined;

  /** `onChange` is told when `vault` has another answer since it was asked last. */
  constructor(loaded: () => LoadedConfig, onChange: () => void) {
    this.#loaded = loaded;
    this.#onChange = onChange;
  }

  /** For the egress thread. undefined when no secret can be used. */
  vault(): Vault | undefined {
    return this.#current()?.vault;
  }

  /**
   * For a sandbox with this network. Throws when the value of a secret cannot be used.
   * Security: in another network than a restricted one requests do not pass the gateway, so the sandbox gets nothing.
   */
  inside(network: Network | undefined, listener: OpenListener): SecretsInside {
    const loaded = this.#loaded();
    const settings = secretSettings(loaded.config);
    if (settings.length === 0) return nothing;
    if (network !== 'restricted') {
      const names = settings.map(({ name }) => name).join(', ');
      listener.notice(`Secrets stay outside (${names}): they need a restricted network (terminal.network: restricted).`);
      return nothing;
    }
    for (const setting of settings) {
      const flaw = secretFlaw(loaded, setting);
      if (flaw !== undefined)
        throw new HermeticError('config/bad-value', flaw, { hint: `${hermetic} secret set ${setting.env} replaces it.` });
    }
    for (const sentence of missingSecrets(loaded)) listener.notice(sentence);
    const before = this.#kept;
    const current = this.#current();
    // Security: the thread intercepts at the hosts of a secret before any sandbox has the placeholder.
    if (current !== before) this.#onChange();
    if (!current) return nothing;
    current.trust ??= trustIn(loaded.home, current.authorities);
    return { mounts: [current.trust.mount], trustEnv: current.trust.env, placeholders: current.placeholders };
  }

  #current(): Kept | undefined {
    const loaded = this.#loaded();
    if (this.#kept?.loaded === loaded && Date.now() - this.#kept.at < dayMs) return this.#kept;
    const usable = usableSecrets(loaded);
    const before = this.#kept;
    this.#kept = usable.length === 0 ? undefined : keep(loaded, usable);
    // Writing the files takes a tenth of a second.
    if (this.#kept && before?.trust && isDeepStrictEqual(before.authorities, this.#kept.authorities)) this.#kept.trust = before.trust;
    return this.#kept;
  }
}

function keep(loaded: LoadedConfig, settings: readonly SecretSetting[]): Kept {
  const authorities = readAuthorities(loaded.home);
  const { current: authority } = authorities;
  const bound = settings.map(({ env, inside, prefix, ...setting }) => {
    const value = loaded.environment[env] ?? '';
    const placeholder = placeholderFor(setting.name, value.length, authority.key, prefix ?? beginningOf(value));
    return { inside, secret: { ...setting, value, placeholder } satisfies BoundSecret };
  });
  return {
    loaded,
    at: Date.now(),
    vault: { authority, secrets: bound.map(({ secret }) => secret) },
    authorities,
    placeholders: Object.fromEntries(bound.map(({ inside, secret }) => [inside, secret.placeholder])),
  };
}

/** Programs look for them before they send a token. */
const beginnings = [
  'ghp_',
  'gho_',
  'ghu_',
  'ghs_',
  'ghr_',
  'github_pat_',
  'glpat-',
  'sk-ant-',
  'sk-proj-',
  'sk-',
  'npm_',
  'pypi-',
  'hf_',
  'gsk_',
  'xoxb-',
  'xoxp-',
];

function beginningOf(value: string): string {
  return beginnings.find((beginning) => value.startsWith(beginning)) ?? '';
}
