import type { Store } from '../core/store.ts';
import { exitCodeFor } from './exit-codes.ts';
import type { CliIo } from './io.ts';

/**
 * Ends the process when its state cannot be kept any more, so that whatever watches over it starts it again. At once and not in order: an orderly
 * end would have to be written down too. The next start takes up what was running, as after a kill.
 */
export function endWithStore(io: CliIo, { lost }: Store): void {
  void lost.then(({ message, hint, code }) => {
    io.stderr.write(`hermetic: ${message} Hermetic ends, because it could keep nothing it answers. ${hint ?? ''}\n`);
    process.exit(exitCodeFor(code));
  });
}
