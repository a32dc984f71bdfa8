import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Recorder } from '../../src/audit/recorder.ts';
import { verifyLog } from '../../src/audit/verify.ts';
import { type AuditEvent, type AuditRecord, auditContent } from '../../src/core/audit.ts';
import type { Store } from '../../src/core/store.ts';
import { digestOf } from '../../src/lib/canonical-json.ts';
import { openStore } from '../../src/stores/index.ts';
import { scratchPaths } from '../stores/scratch.ts';
import { until } from '../until.ts';

const newPath = scratchPaths();
const event = (outcome: string): AuditEvent => ({
  at: new Date(1_700_000_000_000),
  actor: 'agent',
  session: ['chat', 'a"b\n\ud800'],
  kind: 'judgement',
  what: { z: 1, a: [{ text: 'rm -rf "é"\u0000', n: null }] },
  outcome,
});

let path: string;
let directory: string;
let store: Store;
beforeEach(async () => {
  path = newPath();
  directory = join(dirname(path), 'logs');
  store = await openStore(path);
});
afterEach(() => store.close());

const problems = async (): Promise<string[]> =>
  (await verifyLog(store.audit, directory)).problems.map(({ seq, what }) => `${seq}: ${what}`);
const fill = async (count: number): Promise<void> =>
  await store.audit.append(Array.from({ length: count }, (_, index) => event(`e${index + 1}`)));

function tamper(sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

describe('verification', () => {
  it('finds no problem in an untouched log, also an empty one', async () => {
    expect(await problems()).toEqual([]);
    await fill(3);
    expect(await verifyLog(store.audit, directory)).toMatchObject({ records: 3, problems: [], head: { seq: 3 } });
  });

  it.each([
    ["actor = 'ada'"],
    ["session = '[]'"],
    ["kind = 'tool'"],
    ["outcome = 'denied'"],
    ['at = at + 1'],
    ["what = '{}'"],
    ["what = 'nonsense'"],
    ["session = 'nonsense'"],
    ['at = 9e99'],
  ])('finds a changed record: %s', async (change) => {
    await fill(4);
    tamper(`update audit set ${change} where seq = 2`);
    expect(await problems()).toEqual(['2: was changed']);
  });

  it('finds a changed record with a forged hash', async () => {
    await fill(4);
    const [, second] = await store.audit.list({}, 4);
    const forged = { ...(second as AuditRecord), outcome: 'denied' };
    tamper(`update audit set outcome = 'denied', hash = '${digestOf(auditContent(forged))}' where seq = 2`);
    expect(await problems()).toEqual(['3: does not follow the record before it']);
  });

  it.each([
    ['the first', 'seq = 1', ['2: record 1 is missing']],
    ['some in the middle', 'seq in (2, 3)', ['4: records 2 to 3 are missing']],
    ['the last', 'seq = 5', ['5: record 5 is missing']],
    ['all', 'true', ['5: records 1 to 5 are missing']],
  ])('finds %s removed', async (_case, which, found) => {
    await fill(5);
    tamper(`delete from audit where ${which}`);
    expect(await problems()).toEqual(found);
    await store.audit.append([event('later')]);
    expect(await problems()).not.toEqual([]);
  });

  it('finds moved records', async () => {
    await fill(4);
    tamper('update audit set seq = 99 where seq = 2; update audit set seq = 2 where seq = 3; update audit set seq = 3 where seq = 99');
    expect(await problems()).toEqual(expect.arrayContaining(['2: was changed', '3: was changed']));
  });

  it('finds a foreign record', async () => {
    await fill(2);
    tamper("insert into audit select 3, at, actor, session, kind, what, 'forged', hash, hash from audit where seq = 2");
    expect(await problems()).toContain('3: was added by something else');
  });

  it('finds a rewritten log when its head was noted', async () => {
    await fill(3);
    const noted = await store.audit.head();
    tamper('delete from audit; delete from audit_head');
    await fill(2);
    await store.audit.append([event('other'), event('more')]);
    expect(await problems()).toEqual([]);
    expect((await verifyLog(store.audit, directory, noted)).problems).toEqual([{ seq: 3, what: 'is not the record that was noted' }]);
  });

  it('finds no problem while records are added', async () => {
    await fill(2_500);
    const other = await openStore(path);
    let going = true;
    const adding = (async () => {
      while (going) await other.audit.append([event('more')]);
    })();
    for (let round = 0; round < 5; round++) expect(await problems()).toEqual([]);
    going = false;
    await adding;
    await other.close();
  });
});

describe('the recorder', () => {
  it('writes notes together with the next record, and otherwise soon by itself', async () => {
    const sizes: number[] = [];
    const append = async (events: readonly AuditEvent[]): Promise<void> => {
      sizes.push(events.length);
      await store.audit.append(events);
    };
    const recorder = new Recorder(async () => ({
      append,
      list: (filter, limit) => store.audit.list(filter, limit),
      head: () => store.audit.head(),
      segments: () => store.audit.segments(),
      archive: (segment) => store.audit.archive(segment),
    }));
    recorder.note(event('first'));
    await new Promise((resolve) => setImmediate(resolve));
    recorder.note(event('second'));
    await recorder.record(event('third'));
    expect(sizes).toEqual([3]);
    recorder.note(event('fourth'));
    await until('it is written', async () => (await store.audit.head()).seq === 4);
    expect((await store.audit.list({}, 9)).map(({ outcome }) => outcome)).toEqual(['first', 'second', 'third', 'fourth']);
  });

  it('writes earlier notes before the record', async () => {
    const recorder = new Recorder(async () => store.audit);
    recorder.note(event('first'));
    recorder.note(event('second'));
    await recorder.record(event('third'));
    expect((await store.audit.list({}, 9)).map(({ outcome }) => outcome)).toEqual(['first', 'second', 'third']);
  });

  it('keeps unwritten records, and lets nothing new happen until it can write them', async () => {
    let works = false;
    const recorder = new Recorder(async () => {
      if (!works) throw new Error('no space is left');
      return store.audit;
    });
    recorder.note(event('ended'));
    await expect(recorder.settled()).rejects.toThrow('no space');
    await expect(recorder.record(event('refused'))).rejects.toThrow('no space');
    works = true;
    await recorder.record(event('allowed'));
    expect((await store.audit.list({}, 9)).map(({ outcome }) => outcome)).toEqual(['ended', 'allowed']);
    await recorder.settled();
    expect(await problems()).toEqual([]);
  });
});
