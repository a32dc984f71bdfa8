import { channelDrivers } from '../channels/index.ts';
import { isObjectName, objectNameFlaw } from '../lib/variable-name.ts';

/** Platforms that Hermes and earlier versions have a section for, and this version no channel. */
export const platformsWithoutChannel: readonly string[] = ['slack', 'whatsapp', 'signal', 'matrix', 'mattermost'].filter(
  (name) => !channelDrivers.some(({ kind }) => kind === name),
);

/** Keys of Hermes, and why this version has none. */
const keys: ReadonlyMap<string, string> = new Map([['terminal.modal_mode', 'Modal is always used by your own account']]);

/** Why this version does not use a key or section of Hermes or of an earlier version; undefined for every other name. */
export function whyUnused(name: string): string | undefined {
  const [section = '', entry] = name.split('.');
  if (section === 'secrets' && entry !== undefined && isObjectName(entry)) return objectNameFlaw;
  return platformsWithoutChannel.includes(section) ? `this version has no channel for ${section}` : keys.get(name);
}

/** The key that a variable would set if this version used it. */
export function unusedKeyOf(variable: string): string | undefined {
  const [, section = 'terminal', key = ''] = /^(?:TERMINAL|HERMETIC_([A-Z]+))_(.+)$/.exec(variable) ?? [];
  const name = `${section}.${key}`.toLowerCase();
  return variable.startsWith('HERMETIC_TERMINAL_') || whyUnused(name) === undefined ? undefined : name;
}
