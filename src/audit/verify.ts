import type { AuditHead, AuditLog, AuditSegment } from '../core/audit.ts';
import { errorText } from '../lib/error-text.ts';
import { readSegment, segmentName } from './archive.ts';
import { Chain, type ChainProblem, missing } from './chain.ts';

export interface Verification {
  /** How many records there are, in the log and in the files of its segments. */
  records: number;
  /** To be noted elsewhere: a log that was written anew from some record on does not hold it. */
  head: AuditHead;
  /** Empty when nothing was changed, removed, added or moved. */
  problems: readonly ChainProblem[];
}

const pageSize = 1_000;

/**
 * Looks at every record, also at those in files in this directory. Others may go on adding and archiving meanwhile. With `noted`, the log must
 * hold that record as it was.
 */
export async function verifyLog(log: AuditLog, directory: string, noted?: AuditHead): Promise<Verification> {
  for (;;) {
    const segments = await log.segments();
    const verification = await look(log, segments, directory, noted);
    if ((await log.segments()).length === segments.length) return verification;
  }
}

async function look(log: AuditLog, segments: readonly AuditSegment[], directory: string, noted?: AuditHead): Promise<Verification> {
  const before = await log.head();
  const chain = new Chain();
  const wanted = [before, ...(noted ? [noted] : [])].filter(({ seq }) => seq > 0);
  const found = new Map<number, string>();
  const add = (record: Parameters<Chain['add']>[0]): void => {
    chain.add(record);
    if (wanted.some(({ seq }) => seq === record.seq)) found.set(record.seq, record.hash);
  };
  for (const segment of segments) await addSegment(chain, segment, directory, add);
  for (let after = segments.at(-1)?.last ?? 0; ; ) {
    const page = await log.list({ after }, pageSize);
    for (const record of page) add(record);
    const last = page.at(-1);
    if (!last || page.length < pageSize) break;
    after = last.seq;
  }
  const { problems } = chain;
  const written = found.get(before.seq) ?? segments.find(({ last }) => last === before.seq)?.hash;
  if (before.seq > chain.last) problems.push({ seq: before.seq, what: missing(chain.last + 1, before.seq) });
  else if (before.seq > 0 && written !== before.hash) problems.push({ seq: before.seq, what: 'is not the record that was written last' });
  const head = await log.head();
  if (chain.last > head.seq) problems.push({ seq: chain.last, what: 'was added by something else' });
  if (noted && found.get(noted.seq) !== noted.hash) problems.push({ seq: noted.seq, what: 'is not the record that was noted' });
  return { records: chain.count, head, problems };
}

async function addSegment(
  chain: Chain,
  segment: AuditSegment,
  directory: string,
  add: (record: Parameters<Chain['add']>[0]) => void,
): Promise<void> {
  const { first, last, hash } = segment;
  const name = segmentName(segment);
  if (first !== chain.last + 1) chain.problems.push({ seq: first, what: missing(chain.last + 1, first - 1) });
  try {
    for await (const record of readSegment(directory, segment)) add(record);
    if (chain.last !== last || chain.hash !== hash) chain.problems.push({ seq: last, what: `is not the last one in ${name}` });
  } catch (error) {
    const isGone = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const why = isGone ? 'is missing' : `cannot be read: ${errorText(error)}`;
    chain.problems.push({ seq: first, what: `${name}, which holds the records up to ${last}, ${why}` });
  }
  chain.skip(segment);
}
