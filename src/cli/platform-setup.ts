import type { ChannelDriver } from '../channels/driver.ts';
import { channelDrivers } from '../channels/index.ts';
import type { ChannelSetup } from '../channels/setup.ts';
import { checkChanges } from '../config/edit.ts';
import type { LoadedConfig } from '../config/load.ts';
import { platformSections } from '../config/schema.ts';
import { HermeticError } from '../core/errors.ts';
import type { CliIo } from './io.ts';
import { withSettings } from './with-settings.ts';

/** A platform that is being connected: what it needs, and what was entered for that. */
export interface PlatformChoice {
  driver: ChannelDriver;
  setup: ChannelSetup;
  /** By option. */
  entered: ReadonlyMap<string, string>;
}

export const platforms: readonly ChannelDriver[] = channelDrivers;

/** The option of `hermetic setup` that connects it. */
export function optionName({ kind }: ChannelDriver): string {
  return kind.replaceAll('_', '-');
}

export function isEnabled({ config }: LoadedConfig, { kind }: ChannelDriver): boolean {
  return platformSections(config).get(kind)?.enabled === true;
}

/** Where the value of an option is written: the variable of a secret, or the key of the configuration. */
export function whereWritten(loaded: LoadedConfig, { kind, secrets }: ChannelDriver, option: string): string {
  return secrets.includes(option) ? String(sectionOf(loaded, kind)[option]) : `${kind}.${option}`;
}

/** What the configuration or the environment has for an option. */
export function knownValue(loaded: LoadedConfig, { kind, secrets }: ChannelDriver, option: string): string | undefined {
  const value = sectionOf(loaded, kind)[option];
  if (secrets.includes(option)) return loaded.environment[String(value)] || undefined;
  return value === undefined || value === '' ? undefined : String(value);
}

/** Resolves with a sentence about who we are at the platform. Rejects with its message. */
export async function tryPlatform(loaded: LoadedConfig, { driver, setup, entered }: PlatformChoice): Promise<string> {
  const valueFor = (option: string): string => entered.get(option) ?? knownValue(loaded, driver, option) ?? '';
  for (const { option, problem } of setup.fields) {
    const wrong = problem?.(valueFor(option));
    if (wrong !== undefined) throw new HermeticError('channel/unusable', wrong);
  }
  const plain = [...entered].filter(([option]) => !driver.secrets.includes(option));
  return await setup.check({ secret: valueFor, options: { ...sectionOf(loaded, driver.kind), ...Object.fromEntries(plain) } });
}

export async function savePlatform(io: CliIo, loaded: LoadedConfig, { driver, entered }: PlatformChoice): Promise<void> {
  const isSecret = (option: string): boolean => driver.secrets.includes(option);
  const changes = {
    ...Object.fromEntries(
      [...entered].filter(([option]) => !isSecret(option)).map(([option, value]) => [`${driver.kind}.${option}`, value]),
    ),
    [`${driver.kind}.enabled`]: 'true',
  };
  checkChanges(changes);
  await withSettings(io, async (settings) => {
    for (const [option, value] of entered) if (isSecret(option)) await settings.storeSecret(whereWritten(loaded, driver, option), value);
    await settings.change(changes);
  });
}

function sectionOf({ config }: LoadedConfig, kind: string): Readonly<Record<string, unknown>> {
  return { ...platformSections(config).get(kind) };
}
