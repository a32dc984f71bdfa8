import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { AuditLog, AuditRecord, AuditSegment } from '../core/audit.ts';
import { HermeticError } from '../core/errors.ts';
import { syncPath } from '../lib/sync-path.ts';
import { Chain } from './chain.ts';

const pageSize = 1_000;
/** They leave the log in one transaction, which must not hold up others. */
const maxSegmentRecords = 10_000;
const namePattern = /^audit-(\d{1,15})-(\d{1,15})\.jsonl$/;

/** The name of its file. */
export function segmentName({ first, last }: Pick<AuditSegment, 'first' | 'last'>): string {
  return `audit-${first}-${last}.jsonl`;
}

/** The records of a segment, in the order of its file. Rejects when that is not there or is no such file. */
export async function* readSegment(directory: string, segment: AuditSegment): AsyncGenerator<AuditRecord> {
  yield* readRecords(join(directory, segmentName(segment)));
}

async function* readRecords(path: string): AsyncGenerator<AuditRecord> {
  let rest = '';
  // Not by `readline`, which also ends lines at characters that JSON leaves as they are.
  for await (const chunk of createReadStream(path, 'utf8')) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield recordOf(line);
  }
  if (rest !== '') yield recordOf(rest);
}

function recordOf(line: string): AuditRecord {
  const record = JSON.parse(line) as AuditRecord;
  return { ...record, at: new Date(record.at) };
}

/**
 * Moves records from before then to files in this directory, the oldest first. A file is on disk before its records leave the log, both or neither
 * counts, and what a crash left is done again. Rejects, and nothing has left the log, when they are not as they were written.
 */
export async function archiveLog(log: AuditLog, directory: string, before: Date): Promise<AuditSegment[]> {
  const archived: AuditSegment[] = [];
  for (;;) {
    const segment = await archiveNext(log, directory, before);
    if (!segment) return archived;
    archived.push(segment);
  }
}

async function archiveNext(log: AuditLog, directory: string, before: Date): Promise<AuditSegment | undefined> {
  const segments = await log.segments();
  const chain = Chain.after(segments.at(-1));
  const first = chain.last + 1;
  const isOld = ({ at }: AuditRecord): boolean => at < before;
  const [oldest] = await log.list({ after: chain.last }, 1);
  if (!oldest || !isOld(oldest)) return undefined;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const part = join(directory, `audit-${first}.part`);
  const file = await open(part, 'w', 0o600);
  try {
    await file.chmod(0o600);
    await writeRecords(log, chain, isOld, file);
    await file.sync();
  } finally {
    await file.close();
  }
  const [problem] = chain.problems;
  if (problem) {
    await rm(part, { force: true });
    throw new HermeticError('audit/broken', `Nothing was archived: record ${problem.seq} ${problem.what}.`);
  }
  const segment = { first, last: chain.last, hash: chain.hash };
  await removeCopies(log, directory, segments, segment);
  await rename(part, join(directory, segmentName(segment)));
  syncPath(directory);
  await log.archive(segment);
  return segment;
}

/** Up to the first that is not old. Security: only what is proven to be as it was written may leave the log. */
async function writeRecords(log: AuditLog, chain: Chain, isOld: (record: AuditRecord) => boolean, file: FileHandle): Promise<void> {
  while (chain.count < maxSegmentRecords) {
    const page = await log.list({ after: chain.last }, pageSize);
    const end = page.findIndex((record) => !isOld(record));
    const old = end === -1 ? page : page.slice(0, end);
    for (const record of old) chain.add(record);
    if (chain.problems.length > 0) return;
    await file.writeFile(old.map((record) => `${JSON.stringify(record)}\n`).join(''));
    if (old.length < pageSize) return;
  }
}

/** Of a crash after the file was written: its records are still in the log. One that holds anything else stays. */
async function removeCopies(log: AuditLog, directory: string, segments: readonly AuditSegment[], next: AuditSegment): Promise<void> {
  for (const name of await readdir(directory)) {
    const [, first, last] = namePattern.exec(name) ?? [];
    const isKnown = segments.some((segment) => segmentName(segment) === name);
    if (isKnown || Number(first) !== next.first || name === segmentName(next)) continue;
    const path = join(directory, name);
    let hash: string | undefined;
    try {
      for await (const record of readRecords(path)) hash = record.hash;
    } catch {
      continue;
    }
    const [record] = await log.list({ after: Number(last) - 1 }, 1);
    if (record?.seq === Number(last) && record.hash === hash) await rm(path, { force: true });
  }
}
