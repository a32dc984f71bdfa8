import { printable } from '../../lib/printable.ts';

/** How something ended at Modal. */
export interface Result {
  status: number;
  exception: string;
  exitcode: number;
}

const words: Readonly<Record<number, string>> = {
  3: 'it was terminated',
  4: 'its longest lifetime was over (terminal.modal_max_lifetime)',
  5: 'it could not be started',
  6: 'Modal had an error of its own',
  7: 'it was idle for too long',
  8: 'its machine ran out of memory',
};

const maxQuoted = 300;

/** Completes "The sandbox has ended at Modal: …". */
export function endWords({ status, exception, exitcode }: Result): string {
  const said = printable(exception).slice(0, maxQuoted);
  return `${words[status] ?? `its first process ended with code ${exitcode}`}${said ? ` (${said})` : ''}`;
}
