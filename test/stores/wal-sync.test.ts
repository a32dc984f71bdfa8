import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SqliteAccess } from '../../src/stores/sqlite/access.ts';
import { connect, queries } from '../../src/stores/sqlite/connection.ts';
import { makePrivateFile } from '../../src/stores/sqlite/files.ts';
import { WalSync } from '../../src/stores/sqlite/wal-sync.ts';
import { until } from '../until.ts';

/** A disk that takes its time, or fails. */
class Disk {
  readonly flushes: PromiseWithResolvers<void>[] = [];

  flush(): Promise<void> {
    const flush = Promise.withResolvers<void>();
    this.flushes.push(flush);
    return flush.promise;
  }
}

describe('durable writes', () => {
  let directory: string;
  let disk: Disk;
  let access: SqliteAccess;
  let settled: string[];

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'hermetic-wal-'));
    const path = join(directory, 'state.db');
    disk = new Disk();
    settled = [];
    makePrivateFile(path);
    const database = connect(path);
    database.exec('pragma journal_mode = wal; create table counters (name text primary key, value integer)');
    access = new SqliteAccess(path, database, queries(database), new WalSync(path, () => disk.flush()));
  });

  afterEach(async () => {
    for (const flush of disk.flushes) flush.resolve();
    await access.close();
    rmSync(directory, { recursive: true });
  });

  const write = async (name: string, sync?: 'now' | 'later'): Promise<void> => {
    await access.run(
      (db) =>
        db
          .insertInto('counters')
          .values({ name: name as 'inbox', value: 1 })
          .execute(),
      sync,
    );
    settled.push(name);
  };
  const names = async (): Promise<string[]> =>
    (await access.read((db) => db.selectFrom('counters').select('name').orderBy('name').execute())).map(({ name }) => name);

  it('a write resolves after it is on disk', async () => {
    const writing = write('a');
    await until('the disk is asked', () => disk.flushes.length === 1);
    expect(await names()).toEqual(['a']);
    expect(settled).toEqual([]);
    disk.flushes[0]?.resolve();
    await writing;
  });

  it('writes made during a flush share the next one', async () => {
    const writing = [write('a')];
    await until('the disk is asked', () => disk.flushes.length === 1);
    writing.push(write('b'), write('c'), write('d'));
    await until('all are written', async () => (await names()).length === 4);
    disk.flushes[0]?.resolve();
    await writing[0];
    await until('the disk is asked again', () => disk.flushes.length === 2);
    expect(settled).toEqual(['a']);
    disk.flushes[1]?.resolve();
    await Promise.all(writing);
    expect(disk.flushes).toHaveLength(2);
  });

  it('a write with later resolves at once, and is on disk before a later write that waits', async () => {
    await write('a', 'later');
    await until('the disk is asked', () => disk.flushes.length === 1);
    const writing = write('b');
    await until('both are written', async () => (await names()).length === 2);
    disk.flushes[0]?.resolve();
    await until('the disk is asked again', () => disk.flushes.length === 2);
    expect(settled).toEqual(['a']);
    disk.flushes[1]?.resolve();
    await writing;
  });

  it('a transaction that depends on an unflushed write waits for the disk, and writes nothing itself', async () => {
    await write('a', 'later');
    const asking = access.transaction(async () => settled.push('nothing'));
    let isAnswered = false;
    void asking.then(() => {
      isAnswered = true;
    });
    await until('it has looked', () => settled.includes('nothing'));
    expect(await names()).toEqual(['a']);
    expect(isAnswered).toBe(false);
    await until('the disk is asked', () => disk.flushes.length === 1);
    disk.flushes[0]?.resolve();
    await asking;
  });

  it('refuses all writes once the disk has failed', async () => {
    const heard: string[] = [];
    void access.lost.then(({ code }) => heard.push(`lost: ${code}`));
    const writing = write('a').catch((error: unknown) => {
      heard.push('rejected');
      throw error;
    });
    await until('the disk is asked', () => disk.flushes.length === 1);
    disk.flushes[0]?.reject(new Error('EIO: i/o error, fdatasync'));
    await expect(writing).rejects.toMatchObject({ code: 'store/failed' });
    expect(heard).toEqual(['lost: store/failed', 'rejected']);
    await expect(write('b')).rejects.toMatchObject({ code: 'store/failed' });
    expect(disk.flushes).toHaveLength(1);
  });
});
