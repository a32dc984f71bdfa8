import { type AuditRecord, type AuditSegment, auditContent, firstHash } from '../core/audit.ts';
import { digestOf } from '../lib/canonical-json.ts';

export interface ChainProblem {
  /** The record at which it shows. */
  seq: number;
  what: string;
}

/** Records one after the other, and what is wrong with them. */
export class Chain {
  readonly problems: ChainProblem[] = [];
  count = 0;
  last = 0;
  hash = firstHash;

  /** The hash that follows this segment, whose records are not read. */
  static after(segment: AuditSegment | undefined): Chain {
    const chain = new Chain();
    if (segment) chain.skip(segment);
    return chain;
  }

  add(record: AuditRecord): void {
    const { seq } = record;
    if (seq > this.last + 1) this.problems.push({ seq, what: missing(this.last + 1, seq - 1) });
    else if (record.previous !== this.hash) this.problems.push({ seq, what: 'does not follow the record before it' });
    if (hashOf(record) !== record.hash) this.problems.push({ seq, what: 'was changed' });
    this.count += 1;
    this.last = seq;
    this.hash = record.hash;
  }

  skip({ last, hash }: AuditSegment): void {
    this.last = last;
    this.hash = hash;
  }
}

/** A record without a valid time or content cannot be one of ours. */
function hashOf(record: AuditRecord): string | undefined {
  try {
    return digestOf(auditContent(record));
  } catch {
    return undefined;
  }
}

export function missing(first: number, last: number): string {
  return first === last ? `record ${first} is missing` : `records ${first} to ${last} are missing`;
}
