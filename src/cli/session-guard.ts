import type { Command } from 'commander';
import { gatewayProcess } from '../app/gateway-process.ts';
import { originOf, refusedOrigin, sessionVariable } from '../app/session-process.ts';
import { findHome } from '../config/home.ts';
import type { CliIo } from './io.ts';
import { askGateway } from './running-gateway.ts';

/**
 * Which commands change Hermetic. Security: a session may only run those that look; a command missing here counts as one that changes something.
 */
export const commandEffects: Readonly<Record<string, 'changes' | 'reads'>> = {
  start: 'changes',
  chat: 'changes',
  setup: 'changes',
  run: 'changes',
  code: 'changes',
  shell: 'changes',
  mcp: 'changes',
  'sandbox list': 'reads',
  'sandbox show': 'reads',
  'sandbox destroy': 'changes',
  'sandbox prune': 'changes',
  'approvals judge': 'reads',
  'approvals list': 'reads',
  'approvals show': 'reads',
  'approvals approve': 'changes',
  'approvals deny': 'changes',
  'approvals grants': 'reads',
  'approvals revoke': 'changes',
  'pairing list': 'reads',
  'pairing approve': 'changes',
  'pairing revoke': 'changes',
  'page sessions': 'reads',
  'page revoke': 'changes',
  'audit list': 'reads',
  'audit show': 'reads',
  'audit verify': 'reads',
  'audit export': 'reads',
  status: 'reads',
  doctor: 'reads',
  'network list': 'reads',
  'network test': 'reads',
  'network allow': 'changes',
  'network deny': 'changes',
  'network forget': 'changes',
  'network log': 'reads',
  'config get': 'reads',
  'config set': 'changes',
  'config unset': 'changes',
  'config list': 'reads',
  'config check': 'reads',
  'config path': 'reads',
  'secret set': 'changes',
  'secret list': 'reads',
  'secret remove': 'changes',
};

/** The words of a command after `hermetic`. */
export function commandPath(command: Command): string {
  const words: string[] = [];
  for (let at: Command | null = command; at?.parent; at = at.parent) words.unshift(at.name());
  return words.join(' ');
}

/** Throws when a command that changes something was started by a command of a session. */
export async function refuseFromSession(io: CliIo, command: Command): Promise<void> {
  const path = commandPath(command);
  if (commandEffects[path] === 'reads') return;
  const what = `hermetic ${path}`;
  if (io.environment[sessionVariable]) throw refusedOrigin(what, { kind: 'session', why: 'its environment' });
  const { directory: home } = findHome({ environment: io.environment });
  const origin = originOf(process.pid, gatewayProcess(home));
  if (origin.kind === 'elsewhere' || (origin.kind === 'unknown' && (await isHarmless(io, home)))) return;
  throw refusedOrigin(what, origin);
}

/** The answer where the origin cannot be traced: a person sits at a terminal, and contained sessions run no commands on this machine. */
async function isHarmless({ stdin, stderr }: CliIo, home: string): Promise<boolean> {
  if ([stdin, stderr].every((stream) => (stream as { isTTY?: boolean }).isTTY)) return true;
  return (await askGateway(home))?.isContained === true;
}
