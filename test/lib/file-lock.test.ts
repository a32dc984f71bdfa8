import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withFileLock, withFileLockSync } from '../../src/lib/file-lock.ts';
import { processName } from '../../src/lib/process-name.ts';
import { itNeeding } from '../needs.ts';
import { until } from '../until.ts';

let directory: string;
let lock: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'hermetic-lock-'));
  lock = join(directory, 'lock');
});
afterEach(() => rmSync(directory, { recursive: true }));

const makeOld = (path: string) => utimesSync(path, 0, 0);
const canTake = (deadlineMs: number) => {
  try {
    withFileLockSync(lock, deadlineMs, () => undefined);
    return true;
  } catch {
    return false;
  }
};

/** The name of a process of ours that has ended. */
function nameOfDead(): string {
  const { pid } = spawnSync(process.execPath, ['-e', '']);
  return processName(pid);
}

describe('withFileLock', () => {
  it('holds the lock while the action runs, and removes it afterwards, also when the action throws', async () => {
    expect(withFileLockSync(lock, 0, () => existsSync(lock))).toBe(true);
    await expect(withFileLock(lock, undefined, async () => existsSync(lock))).resolves.toBe(true);
    const fail = () => {
      throw new Error('broken');
    };
    expect(() => withFileLockSync(lock, 0, fail)).toThrow('broken');
    await expect(withFileLock(lock, undefined, async () => fail())).rejects.toThrow('broken');
    expect(readdirSync(directory)).toEqual([]);
  });

  itNeeding(['mount'], 'leaves no lock on a full disk', () => {
    const full = join(directory, 'full');
    mkdirSync(full);
    execFileSync('env', ['mount', '-t', 'tmpfs', '-o', 'size=4k', 'hermetic-test', full]);
    try {
      writeFileSync(join(full, 'filler'), Buffer.alloc(4096));
      expect(() => withFileLockSync(join(full, 'lock'), 0, () => undefined)).toThrow(/ENOSPC/);
      expect(readdirSync(full)).toEqual(['filler']);
      rmSync(join(full, 'filler'));
      expect(withFileLockSync(join(full, 'lock'), 0, () => 'taken')).toBe('taken');
    } finally {
      execFileSync('env', ['umount', full]);
    }
  });

  it('runs one action after the other', async () => {
    const held = Promise.withResolvers<void>();
    const events: string[] = [];
    const first = withFileLock(lock, undefined, async () => {
      events.push('first begins');
      await held.promise;
      events.push('first ends');
    });
    const second = withFileLock(lock, undefined, async () => void events.push('second'));
    expect(canTake(20)).toBe(false);
    held.resolve();
    await Promise.all([first, second]);
    expect(events).toEqual(['first begins', 'first ends', 'second']);
  });

  it('stops waiting for the lock when the signal aborts', async () => {
    writeFileSync(lock, processName());
    const controller = new AbortController();
    const waiting = withFileLock(lock, controller.signal, async () => undefined);
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
    expect(existsSync(lock)).toBe(true);
  });

  it('never takes the lock of a living process, however old it is', () => {
    writeFileSync(lock, processName());
    makeOld(lock);
    expect(canTake(20)).toBe(false);
  });

  it('refreshes the lock while the action runs, for those who cannot see its process', async () => {
    await withFileLock(lock, undefined, async () => {
      makeOld(lock);
      await until('it was refreshed', () => statSync(lock).mtimeMs > 0);
    });
    expect(existsSync(lock)).toBe(false);
  });

  it('leaves a lock that another process has taken meanwhile', async () => {
    const theirs = '0badcafe-1-12-34-abcd';
    await withFileLock(lock, undefined, async () => writeFileSync(lock, theirs));
    expect(readFileSync(lock, 'utf8')).toBe(theirs);
  });

  it('takes the lock of a dead process', () => {
    writeFileSync(lock, nameOfDead());
    expect(canTake(30_000)).toBe(true);
    expect(readdirSync(directory)).toEqual([]);
  });

  it.each(['', '0-1-12-34-abcd', '1 12-34-abcd', 'something else'])(
    'respects a lock with the content %j, whose process is unknown, until it is old',
    (content) => {
      writeFileSync(lock, content);
      expect(canTake(20)).toBe(false);
      makeOld(lock);
      expect(canTake(30_000)).toBe(true);
    },
  );

  it('takes a stale lock although another process died while removing it', () => {
    const dead = nameOfDead();
    writeFileSync(lock, dead);
    writeFileSync(`${lock}.stale`, dead);
    expect(canTake(30_000)).toBe(true);
    expect(readdirSync(directory)).toEqual([]);
  });

  it('gives a stale lock to one of several processes at a time', async () => {
    const counter = join(directory, 'counter');
    writeFileSync(counter, '0');
    const source = JSON.stringify(new URL('../../src/lib/file-lock.ts', import.meta.url).href);
    const script = `
      import { readFileSync, writeFileSync } from 'node:fs';
      import { withFileLockSync } from ${source};
      const [lock, counter, dead] = process.argv.slice(1);
      for (let i = 0; i < 20; i++) {
        withFileLockSync(lock, 60_000, () => writeFileSync(counter, String(Number(readFileSync(counter, 'utf8')) + 1)));
        // As a process leaves it that is killed.
        try { writeFileSync(lock, dead, { flag: 'wx' }); } catch {}
      }`;
    const dead = nameOfDead();
    const args = ['--input-type=module', '-e', script, lock, counter, dead];
    await Promise.all([1, 2, 3, 4].map(() => promisify(execFile)(process.execPath, args)));
    expect(readFileSync(counter, 'utf8')).toBe('80');
  });
});
