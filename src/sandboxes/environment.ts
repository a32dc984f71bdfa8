import { credentialLike } from '../lib/credential-like.ts';

type Values = Readonly<Record<string, string | undefined>>;

export interface EnvironmentWishes {
  /** Let through also when they look like a credential. */
  forward: readonly string[];
  /** Let through unless they look like a credential. */
  passthrough: readonly string[];
  fixed: Readonly<Record<string, string>>;
}

/** The variables of a sandbox. Nothing of `values` enters that is not named, and nothing blank. */
export function sandboxEnvironment(wishes: EnvironmentWishes, values: Values): { env: Record<string, string>; withheld: string[] } {
  // Security: names that look like a credential do not pass by accident; `forward` is how to mean it.
  const withheld = wishes.passthrough.filter((name) => credentialLike.test(name) && !wishes.forward.includes(name));
  const named = [...wishes.passthrough.filter((name) => !withheld.includes(name)), ...wishes.forward];
  const env: Record<string, string> = { ...wishes.fixed };
  for (const name of named) {
    const value = values[name];
    if (value !== undefined && value.trim() !== '') env[name] = value;
  }
  return { env, withheld };
}
