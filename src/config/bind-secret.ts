import { conflictsIn } from './conflicts.ts';
import { type Changes, tryChanges } from './edit.ts';
import { throwProblems } from './explain.ts';
import { configKeys, valueAt } from './keys.ts';
import type { LoadedConfig } from './load.ts';
import type { Config } from './schema.ts';
import type { Setting } from './setting.ts';

type Entry = Config['secrets'][string];

/** Keys of an entry of `secrets`, as a person chose them. */
export type Binding = Partial<Omit<Entry, 'env'>>;

/**
 * The change of config.yaml that binds the secret `name`, whose value is in the variable of that name. Keys that are not chosen stay as they are.
 * Throws, and nothing is changed, when the configuration would not load with it.
 */
export function bindingChanges(loaded: LoadedConfig, name: string, chosen: Binding): Changes {
  const { env: _, ...known } = loaded.config.secrets[name] ?? { hosts: [] };
  const entry = withoutDefaults({ ...known, ...chosen });
  const changes = { [`secrets.${name}`]: JSON.stringify(entry) };
  tryChanges(loaded.files.config, changes);
  const secrets = { ...loaded.config.secrets, [name]: entry };
  const settings = configKeys.map((key): Setting => {
    return { key, value: key.name === 'secrets' ? secrets : valueAt(loaded.config, key), origin: { source: 'default' } };
  });
  // A variable of the environment may forward it.
  throwProblems(conflictsIn(settings, loaded.files));
  return changes;
}

function withoutDefaults(entry: Binding): Binding {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== undefined && value !== false));
}
