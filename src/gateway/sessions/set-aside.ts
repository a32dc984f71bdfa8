import type { AuditLog } from '../../core/audit.ts';
import type { Deliveries, SetAside, SetAsideLedger } from '../../core/set-aside.ts';
import { printable } from '../../lib/printable.ts';

const maxReason = 500;
const maxContent = 100_000;

export interface SetAsideParts {
  ledger: SetAsideLedger;
  audit: Pick<AuditLog, 'append'>;
  /** Takes secrets out. */
  redact(text: string): string;
  log(line: string): void;
}

/** Takes a message that failed too often out of the queue. `hermetic doctor` and the audit log show it. */
export async function setAside({ ledger, audit, redact, log }: SetAsideParts, found: Omit<SetAside, 'at'>): Promise<void> {
  const { source, id, session, tries } = found;
  const at = new Date();
  const reason = redact(printable(found.reason)).slice(0, maxReason);
  // First: what is not recorded is not taken out of line.
  await audit.append([{ at, actor: 'hermetic', session, kind: 'message', what: { source, id, tries, reason }, outcome: 'set aside' }]);
  await ledger.add({ ...found, reason, content: found.content.slice(0, maxContent), at });
  log(`${source} ${id} failed too often and was set aside: ${reason}`);
}

/** Counts the tries of what a platform delivers, and sets aside what cannot be handled. */
export function deliveriesOf(parts: SetAsideParts, source: string): Deliveries {
  return {
    trying: (ids, open) => parts.ledger.trying(source, ids, open),
    setAside: (delivery) => setAside(parts, { ...delivery, source, session: [] }),
  };
}
