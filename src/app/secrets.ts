import { secretSettings } from '../config/bound-secrets.ts';
import type { LoadedConfig } from '../config/load.ts';
import { platformSections } from '../config/schema.ts';
import { credentialLike } from '../lib/credential-like.ts';
import { type Redact, type RedactionStream, redactor } from '../lib/redact.ts';

/**
 * Every value that must never be shown: what sandboxes are given by name, the values of `secrets`, what variables hold that look like a credential, and the tokens and
 * keys of channels and models.
 */
function knownSecrets({ config, environment, unusedTokenVariables }: LoadedConfig): string[] {
  const { terminal, model, web } = config;
  const channels = [...platformSections(config).values(), web].flatMap((section) =>
    Object.entries(section)
      .filter(([key]) => key.endsWith('_env'))
      .map(([, name]) => String(name)),
  );
  const named = new Set([
    ...terminal.docker_forward_env,
    ...secretSettings(config).map(({ env }) => env),
    ...channels,
    ...unusedTokenVariables,
    ...(model.api_key_env ? [model.api_key_env] : []),
  ]);
  const isSecret = ([name, value]: [string, string]): boolean =>
    named.has(name) || (credentialLike.test(name) && couldBeSecret(name, value));
  return [...Object.entries(environment), ...Object.entries(terminal.docker_env)].filter(isSecret).map(([, value]) => value);
}

/** Of those that only look like it by their name: no author, no desktop and no socket. */
function couldBeSecret(name: string, value: string): boolean {
  return value.length >= 8 && !value.startsWith('/') && !/AUTHOR|_SESSION_|DESKTOP_SESSION|^XDG_|_SOCK$|KEYBOARD|KEYMAP/i.test(name);
}

/** Follows the configuration. Security: what was a secret stays one, for it may still be in a sandbox. */
export function redactorOf(loaded: () => LoadedConfig): Redact {
  const secrets = new Set<string>();
  let seen: LoadedConfig | undefined;
  let redact = redactor(secrets);
  const current = (): Redact => {
    const now = loaded();
    if (now !== seen) {
      for (const secret of knownSecrets(now)) secrets.add(secret);
      redact = redactor(secrets);
      seen = now;
    }
    return redact;
  };
  return Object.assign((text: string) => current()(text), { begin: (): RedactionStream => current().begin() });
}
