import { channelDrivers } from '../channels/index.ts';

/** Platforms that Hermes and earlier versions have a section for, and this version no channel. */
export const platformsWithoutChannel: readonly string[] = ['slack', 'whatsapp', 'signal', 'matrix', 'mattermost'].filter(
  (name) => !channelDrivers.some(({ kind }) => kind === name),
);

const backendKey = /^terminal\.(modal|singularity)_image$/;

/** Why this version does not use a key or section of Hermes or of an earlier version; undefined for every other name. */
export function whyUnused(name: string): string | undefined {
  const [, backend] = backendKey.exec(name) ?? [];
  if (backend !== undefined) return `this version has no ${backend} backend`;
  const [section = ''] = name.split('.');
  return platformsWithoutChannel.includes(section) ? `this version has no channel for ${section}` : undefined;
}

/** The key that a variable would set if this version used it. */
export function unusedKeyOf(variable: string): string | undefined {
  const [, section = 'terminal', key = ''] = /^(?:TERMINAL|HERMETIC_([A-Z]+))_(.+)$/.exec(variable) ?? [];
  const name = `${section}.${key}`.toLowerCase();
  return variable.startsWith('HERMETIC_TERMINAL_') || whyUnused(name) === undefined ? undefined : name;
}
