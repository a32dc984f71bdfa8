import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { archiveLog } from '../../src/audit/archive.ts';
import { verifyLog } from '../../src/audit/verify.ts';
import type { AuditEvent, AuditLog } from '../../src/core/audit.ts';
import type { Store } from '../../src/core/store.ts';
import { openStore } from '../../src/stores/index.ts';
import { scratchPaths } from '../stores/scratch.ts';

const newPath = scratchPaths();
const at = (day: number): Date => new Date(Date.UTC(2026, 0, day));
const event = (day: number): AuditEvent => ({
  at: at(day),
  actor: 'agent',
  session: ['a"b\n\ud800'],
  kind: 'tool',
  outcome: `day ${day}`,
  what: { text: 'line\u2028and\u2029paragraph\r\n"é" 😀\u0000' },
});

let path: string;
let directory: string;
let store: Store;
beforeEach(async () => {
  path = newPath();
  directory = join(dirname(path), 'logs');
  store = await openStore(path);
  await store.audit.append([1, 2, 3, 4, 5, 6].map(event));
});
afterEach(() => store.close());

const verified = () => verifyLog(store.audit, directory);
const problems = async (): Promise<string[]> => (await verified()).problems.map(({ seq, what }) => `${seq}: ${what}`);
const seqs = async (): Promise<number[]> => (await store.audit.list({}, 100)).map(({ seq }) => seq);
const files = (): string[] => readdirSync(directory).sort();
const linesIn = (name: string): string[] => readFileSync(join(directory, name), 'utf8').trimEnd().split('\n');

function tamper(sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

it('moves old records to a private file, and the log still verifies', async () => {
  const head = await store.audit.head();
  const [second] = await store.audit.list({ after: 1 }, 1);
  expect(await archiveLog(store.audit, directory, at(4))).toMatchObject([{ first: 1, last: 3 }]);
  expect(files()).toEqual(['audit-1-3.jsonl']);
  expect([statSync(directory).mode & 0o777, statSync(join(directory, 'audit-1-3.jsonl')).mode & 0o777]).toEqual([0o700, 0o600]);
  expect(await seqs()).toEqual([4, 5, 6]);
  expect(await verified()).toEqual({ records: 6, head, problems: [] });
  expect((await verifyLog(store.audit, directory, { seq: 2, hash: second?.hash ?? '' })).problems).toEqual([]);
  expect((await verifyLog(store.audit, directory, { seq: 2, hash: 'f'.repeat(64) })).problems).toHaveLength(1);

  expect(await archiveLog(store.audit, directory, at(4))).toEqual([]);
  await store.audit.append([event(7)]);
  await archiveLog(store.audit, directory, at(99));
  expect(files()).toEqual(['audit-1-3.jsonl', 'audit-4-7.jsonl']);
  expect(await seqs()).toEqual([]);
  expect(await verified()).toMatchObject({ records: 7, problems: [] });
  await store.audit.append([event(8)]);
  expect(await verified()).toMatchObject({ records: 8, problems: [] });
});

const first = 'audit-1-3.jsonl';
it.each<[string, () => void, string]>([
  ['a missing file', () => rmSync(join(directory, first)), '1: audit-1-3.jsonl, which holds the records up to 3, is missing'],
  ['a changed record', () => writeFileSync(join(directory, first), linesIn(first).join('\n').replace('day 2', 'day 9')), '2: was changed'],
  [
    'a file cut short',
    () => writeFileSync(join(directory, first), linesIn(first).slice(0, 2).join('\n')),
    '3: is not the last one in audit-1-3.jsonl',
  ],
  ['a removed line', () => writeFileSync(join(directory, first), linesIn(first).slice(1).join('\n')), '2: record 1 is missing'],
  ['something else in its place', () => writeFileSync(join(directory, first), 'nonsense'), 'cannot be read'],
  ['one under the name of another', () => renameSync(join(directory, 'audit-4-5.jsonl'), join(directory, first)), 'is missing'],
  ['a segment that was forgotten', () => tamper('delete from audit_segments where first = 1'), '4: records 1 to 3 are missing'],
  ['an anchor that was changed', () => tamper("update audit_segments set hash = 'f' where first = 1"), '3: is not the last one'],
  ['a record after the segments that was removed', () => tamper('delete from audit where seq = 6'), '6: record 6 is missing'],
])('verification finds %s', async (_case, damage, found) => {
  await archiveLog(store.audit, directory, at(4));
  await archiveLog(store.audit, directory, at(6));
  expect(await problems()).toEqual([]);
  damage();
  expect((await problems()).join('\n')).toContain(found);
});

it('a crash between the file and the log loses and duplicates no record', async () => {
  const { audit } = store;
  const crashing: AuditLog = {
    append: (events) => audit.append(events),
    list: (filter, limit, newest) => audit.list(filter, limit, newest),
    head: () => audit.head(),
    segments: () => audit.segments(),
    archive: () => Promise.reject(new Error('the power failed')),
  };
  await expect(archiveLog(crashing, directory, at(3))).rejects.toThrow('the power failed');
  expect(files()).toEqual(['audit-1-2.jsonl']);
  expect(await verified()).toMatchObject({ records: 6, problems: [] });
  // Of a crash in the middle of the file.
  writeFileSync(join(directory, 'audit-1.part'), '{"seq":1');
  await archiveLog(audit, directory, at(5));
  expect(files()).toEqual(['audit-1-4.jsonl']);
  expect(linesIn('audit-1-4.jsonl').map((line) => JSON.parse(line).seq)).toEqual([1, 2, 3, 4]);
  expect(await verified()).toMatchObject({ records: 6, problems: [] });
});

it('never removes an archive file that holds records the log has not', async () => {
  await archiveLog(store.audit, directory, at(4));
  // As after a backup of the database was put back.
  tamper('delete from audit_segments; delete from audit; delete from audit_head');
  await store.audit.append([event(1), event(2)]);
  await archiveLog(store.audit, directory, at(3));
  expect(files()).toEqual(['audit-1-2.jsonl', 'audit-1-3.jsonl']);
});

it('refuses to archive changed records and keeps them in the log', async () => {
  tamper("update audit set outcome = 'other' where seq = 2");
  await expect(archiveLog(store.audit, directory, at(4))).rejects.toMatchObject({ code: 'audit/broken' });
  expect(await seqs()).toEqual([1, 2, 3, 4, 5, 6]);
  expect(files()).toEqual([]);
  const segments = [
    { first: 2, last: 3, hash: '' },
    { first: 1, last: 3, hash: 'f'.repeat(64) },
  ];
  for (const segment of segments) await expect(store.audit.archive(segment)).rejects.toMatchObject({ code: 'audit/broken' });
  expect(await seqs()).toEqual([1, 2, 3, 4, 5, 6]);
});

it('verifies correctly while an archive is written', async () => {
  await store.audit.append(Array.from({ length: 3_000 }, () => event(7)));
  const other = await openStore(path);
  const [found] = await Promise.all([verified(), archiveLog(other.audit, directory, at(8))]);
  expect(found).toMatchObject({ records: 3_006, problems: [] });
  await other.close();
});
