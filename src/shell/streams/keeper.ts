import { guestScript } from '../guest-scripts.ts';
import { type Lease, wholeSeconds } from '../pipes/run-directory.ts';

const plainBash = ['bash', '--noprofile', '--norc', '-c'];

/** The main process of a sandbox that is reached by streams only. The script travels in its arguments: no file is shared. */
export async function keeperCommand(lease: Lease): Promise<string[]> {
  return [...plainBash, await guestScript('keeper'), 'hermetic', ...timesOf(lease)];
}

/** The same for a sandbox that has no init: its main process is the first one there. */
export async function firstProcessCommand(lease: Lease): Promise<string[]> {
  const [first, keeper] = await Promise.all([guestScript('firstProcess'), guestScript('keeper')]);
  return [...plainBash, first, 'hermetic', keeper, ...timesOf(lease)];
}

function timesOf({ idleSeconds, backgroundSeconds }: Lease): string[] {
  return [idleSeconds, backgroundSeconds].map(wholeSeconds);
}
