import { channelDrivers } from '../channels/index.ts';
import { isObjectName, objectNameFlaw } from '../lib/variable-name.ts';

/** Platforms that Hermes and earlier versions have a section for, and this version no channel. */
export const platformsWithoutChannel: readonly string[] = ['slack', 'whatsapp', 'signal', 'matrix', 'mattermost'].filter(
  (name) => !channelDrivers.some(({ kind }) => kind === name),
);

const noHostFiles = 'no file of this machine is sourced in a sandbox';
const noPaths = 'files are sent out of the sandbox, never by a path of this machine';

/**
 * Keys of Hermes in the sections that both have, and why this version has none. Security: none of them restricts
 * anything that is not restricted here.
 */
const keys: ReadonlyMap<string, string> = new Map([
  ['terminal.modal_mode', 'Modal is always used by your own account'],
  ['terminal.persistent_shell', 'every command finds what the commands before it have left'],
  ['terminal.home_mode', 'the home in a sandbox is always that of its session'],
  ['terminal.shell_init_files', noHostFiles],
  ['terminal.auto_source_bashrc', noHostFiles],
  ['terminal.sudo_password', 'nothing is run with sudo on this machine'],
  ['terminal.docker_persist_across_processes', 'terminal.container_persistent decides what is kept'],
  ['terminal.docker_orphan_reaper', 'what a program leaves behind is always removed'],
  ['gateway.strict', noPaths],
  ['gateway.media_delivery_allow_dirs', noPaths],
  ['gateway.trust_recent_files', noPaths],
  ['gateway.trust_recent_files_seconds', noPaths],
  ['gateway.message_timestamps', 'the model is told the day, and when it changes'],
  ['gateway.always_log_local', 'every message is in the state database'],
  ['gateway.filter_silence_narration', 'nothing of an answer is left out'],
  ['approvals.gateway_timeout', 'approvals.timeout holds in all chats'],
  ['approvals.mcp_reload_confirm', 'servers are not loaded while a session runs'],
  ['approvals.destructive_slash_confirm', 'no chat command removes files'],
  ['tool_output.max_lines', 'tool_output.max_bytes limits the output'],
  ['tool_output.max_line_length', 'tool_output.max_bytes limits the output'],
]);

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
