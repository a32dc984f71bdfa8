import type { Store } from '../core/store.ts';
import { exitCodeFor } from './exit-codes.ts';
import type { CliIo } from './io.ts';

/**
 * Exits when the state can no longer be put on disk, so that the service manager restarts the process. Without an orderly shutdown, which would
 * have to write state too: the next start recovers as after a kill.
 */
export function endWithStore(io: CliIo, { lost }: Store): void {
  void lost.then(({ message, hint, code }) => {
    io.stderr.write(`hermetic: ${message} Hermetic stops, because it cannot store its answers. ${hint ?? ''}\n`);
    process.exit(exitCodeFor(code));
  });
}
