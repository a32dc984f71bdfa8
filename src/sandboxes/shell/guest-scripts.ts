import { createHash } from 'node:crypto';
import { guestBash } from '../../lib/guest-files.ts';

/** What runs inside a sandbox, and the files it is made of. Nobody inside has to find a second one. */
const parts = {
  forker: ['processes', 'room', 'become', 'forker'],
  pipedShell: ['pipes', 'shell'],
  streamShell: ['room', 'frames', 'stream', 'shell'],
  supervisor: ['processes', 'room', 'become', 'frames', 'supervisor'],
  tether: ['processes', 'tether'],
  keeper: ['keeper'],
} as const;

export type GuestScript = keyof typeof parts;

/** Bash source, without comments. */
export async function guestScript(name: GuestScript): Promise<string> {
  return await guestBash(...parts[name]);
}

/** Changes when what runs in a sandbox already would no longer understand us. */
export async function guestVersion(...names: GuestScript[]): Promise<string> {
  const hash = createHash('sha256');
  for (const name of names) hash.update(await guestScript(name));
  return hash.digest('hex').slice(0, 12);
}
