import { type AuditHead, type AuditLog, type AuditRecord, auditContent, firstHash } from '../core/audit.ts';
import { digestOf } from '../lib/canonical-json.ts';

interface ChainProblem {
  /** The record at which it shows. */
  seq: number;
  what: string;
}

export interface Verification {
  /** How many records there are. */
  records: number;
  /** To be noted elsewhere: a log that was written anew from some record on does not hold it. */
  head: AuditHead;
  /** Empty when nothing was changed, removed, added or moved. */
  problems: readonly ChainProblem[];
}

const pageSize = 1_000;

/** Looks at every record. Others may go on adding meanwhile. With `noted`, the log must hold that record as it was. */
export async function verifyLog(log: AuditLog, noted?: AuditHead): Promise<Verification> {
  const before = await log.head();
  const chain = new Chain();
  const wanted = [before, ...(noted ? [noted] : [])].filter(({ seq }) => seq > 0);
  const found = new Map<number, string>();
  for (let after = 0; ; ) {
    const page = await log.list({ after }, pageSize);
    for (const record of page) {
      chain.add(record);
      if (wanted.some(({ seq }) => seq === record.seq)) found.set(record.seq, record.hash);
    }
    const last = page.at(-1);
    if (!last || page.length < pageSize) break;
    after = last.seq;
  }
  const { problems } = chain;
  if (before.seq > chain.last) problems.push({ seq: before.seq, what: missing(chain.last + 1, before.seq) });
  else if (before.seq > 0 && found.get(before.seq) !== before.hash)
    problems.push({ seq: before.seq, what: 'is not the record that was written last' });
  const head = await log.head();
  if (chain.last > head.seq) problems.push({ seq: chain.last, what: 'was added by something else' });
  if (noted && found.get(noted.seq) !== noted.hash) problems.push({ seq: noted.seq, what: 'is not the record that was noted' });
  return { records: chain.count, head, problems };
}

class Chain {
  readonly problems: ChainProblem[] = [];
  count = 0;
  last = 0;
  #hash = firstHash;

  add(record: AuditRecord): void {
    const { seq } = record;
    if (seq > this.last + 1) this.problems.push({ seq, what: missing(this.last + 1, seq - 1) });
    else if (record.previous !== this.#hash) this.problems.push({ seq, what: 'does not follow the record before it' });
    if (hashOf(record) !== record.hash) this.problems.push({ seq, what: 'was changed' });
    this.count += 1;
    this.last = seq;
    this.#hash = record.hash;
  }
}

/** What has no time, or nothing a hash could be made of, was not written by us. */
function hashOf(record: AuditRecord): string | undefined {
  try {
    return digestOf(auditContent(record));
  } catch {
    return undefined;
  }
}

function missing(first: number, last: number): string {
  return first === last ? `record ${first} is missing` : `records ${first} to ${last} are missing`;
}
