import { existsSync, mkdirSync, utimesSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { enforcementHere } from '../../../src/backends/namespaces/enforcement-here.ts';
import { describeBubblewrap, groupsOf, isRoot, noLimits, type Person, people, run, start } from './open.ts';

const hog = `exec python3 -c '
chunks = []
try:
    for _ in range(40): chunks.append(bytearray(16 << 20))
    print("unlimited")
except MemoryError: print("refused")
'`;
/** At most 120 sleepers; ends by itself. */
const bomb = (seconds: number): string => `for i in {1..120}; do sleep ${seconds} & done 2> /dev/null; ls -d /proc/[0-9]* | wc -l; true`;

const here = await enforcementHere('bubblewrap');

describeBubblewrap('limits of a bubblewrap sandbox', () => {
  const byGroups = (person: Person): boolean => person === 'root' && here.memoryMb.enforced;

  describe.each(people)('started by %s', (person) => {
    it('enforces the memory limit', async () => {
      const limits = { ...noLimits, memoryMb: 128 };
      const { stdout, code, outOfMemoryKills, enforcement } = await run(person, `bash -c ${quoted(hog)}; echo "code $?"`, { limits });
      expect(code).toBe(0);
      if (byGroups(person)) {
        expect(enforcement.memoryMb).toEqual({ enforced: true, how: expect.stringMatching(/^control group version [12]/) });
        expect(stdout).toBe('code 137\n');
        expect(outOfMemoryKills).toBe(1);
      } else {
        expect(enforcement.memoryMb.how).toContain('RLIMIT_DATA');
        expect(stdout).toBe('refused\ncode 0\n');
      }
    });

    it('fails writes to full temporary directories instead of killing a process', async () => {
      const script =
        'head -c 300M /dev/zero > /tmp/big 2> /dev/null; echo $?; stat -c %s /tmp/big; head -c 300M /dev/zero 2>&1 > /dev/shm/big';
      const { stdout } = await run(person, script, { limits: { ...noLimits, memoryMb: 128 } });
      expect(stdout).toBe(`1\n${64 << 20}\nhead: error writing 'standard output': No space left on device\n`);
    });

    it('enforces the limit of processes', async () => {
      const { stdout, enforcement } = await run(person, `bash -c ${quoted(bomb(2))}; sleep 3; echo alive`, {
        limits: { ...noLimits, pids: 40 },
      });
      expect(enforcement.pids.enforced).toBe(true);
      const count = Number(/(\d+)\n/.exec(stdout)?.[1] ?? 0);
      expect(count).toBeLessThanOrEqual(42);
      expect(stdout).toContain('alive');
    });

    it('runs more than a hundred processes without a limit', async () => {
      const { stdout } = await run(person, bomb(300));
      expect(Number(stdout)).toBeGreaterThan(100);
    });

    it('reports that bubblewrap itself does not limit disk space', async () => {
      const { enforcement } = await run(person, 'true', { limits: { ...noLimits, diskMb: 100 } });
      expect(enforcement.diskMb).toEqual({ enforced: false, how: expect.stringContaining('disk') });
    });
  });

  describe.runIf(isRoot && here.memoryMb.enforced)('limits by control groups', () => {
    it('enforces the share of processors', async () => {
      const script = 'end=$(( SECONDS + 3 )); while (( SECONDS < end )); do :; done; times';
      const { stdout } = await run('root', script, { limits: { ...noLimits, cpus: 0.25 } });
      const seconds = [...stdout.matchAll(/(\d+)m([\d.]+)s/g)].slice(0, 2).reduce((sum, [, m, s]) => sum + Number(m) * 60 + Number(s), 0);
      expect(seconds).toBeLessThan(1.5);
    });

    it('removes the control groups of a sandbox at its end', async () => {
      const running = await start('root', 'sleep 300', { limits: { cpus: 1, memoryMb: 64, pids: 20, diskMb: 0 } });
      expect(groupsOf(running.name).filter(existsSync).length).toBeGreaterThan(0);
      running.kill();
      await running.ended;
      expect(groupsOf(running.name).filter(existsSync)).toEqual([]);
    });

    it('removes empty control groups of a killed product at the next start, and keeps those in use', async () => {
      const living = await start('root', 'sleep 300', { limits: { ...noLimits, pids: 20 } });
      const made = groupsOf(living.name).filter(existsSync);
      const empty = made.map((group) => `${group}-empty`);
      for (const group of empty) mkdirSync(group);
      for (const group of [...made, ...empty]) utimesSync(group, new Date(0), new Date(0));
      await run('root', 'true');
      expect(empty.filter(existsSync)).toEqual([]);
      expect(made.filter(existsSync)).toEqual(made);
      living.kill();
      await living.ended;
    });
  });
});

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
