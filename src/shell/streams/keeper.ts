import { guestScript } from '../guest-scripts.ts';
import { type Lease, wholeSeconds } from '../pipes/run-directory.ts';

/** The main process of a sandbox that is reached by streams only. The script travels in its arguments: no file is shared. */
export async function keeperCommand({ idleSeconds, backgroundSeconds }: Lease): Promise<string[]> {
  const times = [idleSeconds, backgroundSeconds].map(wholeSeconds);
  return ['bash', '--noprofile', '--norc', '-c', await guestScript('keeper'), 'hermetic', ...times];
}
