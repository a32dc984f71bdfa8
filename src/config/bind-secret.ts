import { HermeticError } from '../core/errors.ts';
import { nearest } from '../lib/nearest.ts';
import { hermetic } from '../lib/own-command.ts';
import { valueFlaw } from './bound-secrets.ts';
import { conflictsIn } from './conflicts.ts';
import { type Changes, changeKeys, takeOut, type Writing } from './edit.ts';
import { throwProblems } from './explain.ts';
import type { Home } from './home.ts';
import { configKeys, valueAt } from './keys.ts';
import type { LoadedConfig } from './load.ts';
import type { Config } from './schema.ts';
import { checkSecretValue, removeSecret, saveSecret, secretNames } from './secrets-file.ts';
import type { Setting } from './setting.ts';

type Entry = Config['secrets'][string];

/** Keys of an entry of `secrets`, as a person chose them. */
export type Binding = Partial<Entry>;

/**
 * The change of config.yaml that binds the secret `name`. Its value is in the variable of that name, unless `env` is chosen. Other keys that are not chosen stay as
 * they are. Throws, and nothing is changed, when the configuration would not load with it.
 */
export function bindingChanges(loaded: LoadedConfig, name: string, chosen: Binding): Changes {
  const { env: _, ...known } = boundEntry(loaded, name) ?? { hosts: [] };
  const entry = withoutDefaults({ ...known, ...chosen });
  const changes = { [`secrets.${name}`]: JSON.stringify(entry) };
  changeKeys(loaded.files.config, changes, 'try');
  const secrets = { ...loaded.config.secrets, [name]: entry };
  const settings = configKeys.map((key): Setting => {
    return { key, value: key.name === 'secrets' ? secrets : valueAt(loaded.config, key), origin: { source: 'default' } };
  });
  // A variable of the environment may forward it.
  throwProblems(conflictsIn(settings, loaded.files));
  return changes;
}

/** undefined when no entry of `secrets` has this name. */
export function boundEntry({ config }: Pick<LoadedConfig, 'config'>, name: string): Entry | undefined {
  return Object.hasOwn(config.secrets, name) ? config.secrets[name] : undefined;
}

/** Stores the value of a secret, and binds it when there are `changes` for that. Throws, and nothing is changed, for a value that cannot be stored or bound. */
export function storeSecret(
  files: Home['files'],
  name: string,
  value: string,
  changes: Changes | undefined,
  writing: Writing = 'write',
): void {
  checkSecretValue(value);
  const flaw = changes && valueFlaw(value);
  if (flaw) throw new HermeticError('usage/bad-argument', `The value cannot be bound to hosts: it ${flaw}. Nothing was changed.`);
  if (changes) changeKeys(files.config, changes, writing);
  saveSecret(files.dotenv, name, value, writing);
}

export interface Forgotten {
  /** Whether `.env` had a value. */
  wasStored: boolean;
  wasBound: boolean;
}

/** Takes the value of a secret out of `.env` and its binding out of config.yaml. Throws when there is neither. */
export function forgetSecret(files: Home['files'], name: string, writing: Writing = 'write'): Forgotten {
  const wasStored = removeSecret(files.dotenv, name, writing);
  const wasBound = unbind(files, name, wasStored, writing);
  if (wasStored || wasBound) return { wasStored, wasBound };
  const meant = nearest(name, secretNames(files.dotenv));
  throw new HermeticError('secret/not-found', `${files.dotenv} has no secret of this name.${meant ? ` Did you mean ${meant}?` : ''}`, {
    hint: `${hermetic} secret list prints the names.`,
  });
}

function unbind(files: Home['files'], name: string, wasStored: boolean, writing: Writing): boolean {
  try {
    return takeOut(files.config, `secrets.${name}`, writing);
  } catch (error) {
    if (!wasStored || !(error instanceof HermeticError)) throw error;
    // The value goes all the same.
    if (writing === 'try') return false;
    const { code, message, hint } = error;
    throw new HermeticError(code, `${name} is removed from ${files.dotenv}. A binding in config.yaml was not changed: ${message}`, {
      hint,
      cause: error,
    });
  }
}

function withoutDefaults(entry: Binding): Binding {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== undefined && value !== false));
}
