import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { open as openFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { diskUseOf } from '../../src/backends/disk-use.ts';
import { directoryBytes, removeTree } from '../../src/backends/sandbox-directory.ts';
import { Programs } from '../../src/lib/program-pool.ts';
import type { Program } from '../../src/lib/program-starter.ts';
import { makePipes } from '../../src/shell/pipes/named-pipes.ts';
import { until } from '../until.ts';

function pool(): { run(words: Program['words'], timeoutMs?: number): Promise<{ code: number; output: string }> } {
  const programs = new Programs();
  onTestFinished(() => programs.close());
  return {
    run: async (words, timeoutMs) => {
      const pieces: Buffer[] = [];
      const code = await programs.run({ words, timeoutMs, onOutput: (piece) => pieces.push(piece) });
      return { code, output: Buffer.concat(pieces).toString() };
    },
  };
}

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), 'hermetic-programs-'));
  onTestFinished(() => removeTree(path));
  return path;
}

/** Counts processes that this process itself starts. */
function countStarts(): () => number {
  let starts = 0;
  const count = (): void => {
    starts += 1;
  };
  subscribe('child_process', count);
  onTestFinished(() => void unsubscribe('child_process', count));
  return () => starts;
}

it('a small process hands on the output and the exit code of each program', async () => {
  const { run } = pool();
  expect(await run(['printf', '%s\\n', 'a b', '', '$(id)\n;"'])).toEqual({ code: 0, output: 'a b\n\n$(id)\n;"\n' });
  expect(await run(['bash', '-c', 'echo out; echo err >&2; read -r _; exit 3'])).toEqual({ code: 3, output: 'out\n' });
  const { output } = await run(['seq', '1', '200000']);
  expect(output.trim().split('\n')).toHaveLength(200_000);
  expect(await run(['true'])).toEqual({ code: 0, output: '' });
});

it('looks at disk use and named pipes start few processes from the process with the memory, however many there are', async () => {
  const place = directory();
  writeFileSync(join(place, 'file'), 'x'.repeat(100_000));
  await diskUseOf([place], [process.pid]);
  const starts = countStarts();
  for (let round = 0; round < 10; round++) {
    expect(await diskUseOf([place], [process.pid])).toMatchObject({ files: expect.any(Number) });
    await makePipes(place, [`pipe-${round}`]);
  }
  // Three programs for each look and one for each pipe would be 40.
  expect(starts()).toBeLessThanOrEqual(2);
});

it('a program that takes too long is ended, and others do not wait for it', async () => {
  const { run } = pool();
  const slow = Array.from({ length: 3 }, () => run(['sleep', '1000'], 1_500));
  const outcomes = Promise.allSettled(slow);
  expect(await run(['echo', 'quick'])).toMatchObject({ output: 'quick\n' });
  expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  await expect(slow[0]).rejects.toThrow('sleep took longer than 1.5 s');
  expect(await run(['echo', 'after'])).toMatchObject({ output: 'after\n' });
});

it('programs that take long are started a few at a time, however many wait', async () => {
  const { run } = pool();
  const starts = countStarts();
  const place = directory();
  const gate = join(place, 'gate');
  await makePipes(place, ['gate']);
  // Held open here for reading as well: nobody waits for the other side.
  const held = await openFile(gate, 'r+');
  onTestFinished(() => held.close());
  const blocked = Array.from({ length: 60 }, () => run(['bash', '-c', 'read -r < "$0"', gate]));
  await until('several have started', () => starts() > 20);
  await until('no more are started', async () => {
    const before = starts();
    await delay(600);
    return starts() === before;
  });
  expect(starts()).toBeLessThanOrEqual(45);
  // Each reads one byte at a time, and so one line.
  await held.write('\n'.repeat(blocked.length));
  expect((await Promise.all(blocked)).map(({ code }) => code)).toEqual(blocked.map(() => 0));
});

it('a program that waits goes on when the one before it is ended because it takes too long', async () => {
  const { run } = pool();
  const slow = [run(['sleep', '1000'], 50), run(['sleep', '1000'], 50)];
  const outcomes = Promise.allSettled(slow);
  vi.useFakeTimers({ toFake: ['setInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  // Without the clock that starts more.
  expect(await run(['echo', 'next'])).toMatchObject({ output: 'next\n' });
  await outcomes;
});

it('a program that cannot be started is no program that printed nothing', async () => {
  const { run } = pool();
  await expect(run(['hermetic-no-such-program'])).rejects.toThrow('could not be started');
  await expect(run(['echo', 'a\0b'])).rejects.toThrow('NUL');
});

it('programs are started from here where there is no bash', async () => {
  const place = directory();
  const { run } = pool();
  vi.stubEnv('PATH', place);
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(await run(['/bin/echo', 'there'])).toEqual({ code: 0, output: 'there\n' });
  await expect(run(['/bin/sleep', '1000'], 200)).rejects.toThrow('took longer');
  await expect(run(['du'])).rejects.toThrow('could not be started');
});

it('functions that the environment has for bash replace no program', async () => {
  vi.stubEnv('BASH_FUNC_du%%', '() { echo 0 forged; }');
  onTestFinished(() => void vi.unstubAllEnvs());
  const { run } = pool();
  expect((await run(['du', '-sk', '/proc/self/fdinfo'])).output).not.toContain('forged');
});

it('why named pipes could not be made is said', async () => {
  await expect(makePipes('/hermetic-no-such-directory', ['one'])).rejects.toThrow();
  const place = directory();
  await makePipes(place, ['one']);
  await expect(makePipes(place, ['one'])).rejects.toThrow('File exists');
});

it('the size of a directory is that of its files on the disk', async () => {
  const place = directory();
  const before = await directoryBytes(place);
  writeFileSync(join(place, 'file'), Buffer.alloc(1024 * 1024, 1));
  expect((await directoryBytes(place)) - before).toBe(1024 * 1024);
  expect(await directoryBytes(join(place, 'gone'))).toBe(0);
});
