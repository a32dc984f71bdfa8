import type { AuditLog } from '../../core/audit.ts';
import type { SetAside, SetAsideLedger } from '../../core/set-aside.ts';
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

/** Takes what failed too often out of line, where it is found again by `hermetic doctor` and in the audit log. */
export async function setAside({ ledger, audit, redact, log }: SetAsideParts, found: Omit<SetAside, 'at'>): Promise<void> {
  const { source, id, session, tries } = found;
  const at = new Date();
  const reason = redact(printable(found.reason)).slice(0, maxReason);
  // First: what is not recorded is not taken out of line.
  await audit.append([{ at, actor: 'hermetic', session, kind: 'message', what: { source, id, tries, reason }, outcome: 'set aside' }]);
  await ledger.add({ ...found, reason, content: found.content.slice(0, maxContent), at });
  log(`${source} ${id} failed too often and was set aside: ${reason}`);
}
