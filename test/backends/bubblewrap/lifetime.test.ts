import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandLines, isAlive } from '../../processes.ts';
import {
  descendants,
  describeBubblewrap,
  eventually,
  installation,
  makeDirectories,
  noLimits,
  type Person,
  people,
  run,
  spawnProduct,
  start,
} from './open.ts';

describeBubblewrap('the lifetime of a bubblewrap sandbox', () => {
  describe.each(people)('started by %s', (person) => {
    const daemons = '(setsid sleep 60 &) ; (setsid bash -c "sleep 60; :" > /dev/null 2>&1 &) ; sleep 60 & touch ready; wait';

    it('ends every process of a sandbox when the product is killed', async () => {
      const running = await start(person, daemons);
      expect(await eventually(() => existsSync(join(running.directory, 'workspace/ready')))).toBe(true);
      const inner = [running.pid, ...descendants(running.pid)];
      expect(inner.length).toBeGreaterThanOrEqual(6);
      running.product.kill('SIGKILL');
      expect(await eventually(() => !inner.some(isAlive))).toBe(true);
    });

    it('ends every process of a sandbox when bubblewrap is killed', async () => {
      const running = await start(person, daemons);
      expect(await eventually(() => existsSync(join(running.directory, 'workspace/ready')))).toBe(true);
      const inner = [running.pid, ...descendants(running.pid)];
      running.kill();
      expect(await running.ended).toMatchObject({ code: null, signal: 'SIGKILL' });
      expect(await eventually(() => !inner.some(isAlive))).toBe(true);
    });

    it('ends a sandbox with the exit code of its command', async () => {
      const started = Date.now();
      expect(await run(person, 'sleep 600 & exit 7')).toMatchObject({ code: 7, signal: null });
      expect(Date.now() - started).toBeLessThan(90_000);
    });

    it('protects a bubblewrap sandbox from Ctrl-C at the terminal of the product', async () => {
      const running = await start(person, 'sleep 300');
      const [, group] = /^.*\) \S \d+ (\d+)/s.exec(readFileSync(`/proc/${running.pid}/stat`, 'utf8')) ?? [];
      expect(group).toBe(String(running.pid));
      running.kill();
      await running.ended;
    });

    it('reaps orphaned processes inside the sandbox', async () => {
      // To the shell a process is there until somebody has waited for it.
      const script = '(sleep 0.1 & echo $! >pid); for i in {1..600}; do kill -0 "$(<pid)" || exit 7; sleep 0.1; done';
      expect(await run(person, script)).toMatchObject({ code: 7 });
    });

    it('leaves no process when the product is killed at any moment of a start', async () => {
      const mark = `60.${process.pid}${person.length}`;
      const moments = Array.from({ length: 20 }, (_, index) => index * 2);
      for (let first = 0; first < moments.length; first += 4) {
        await Promise.all(moments.slice(first, first + 4).map((dieAfterMs) => startAndDie(person, ['sleep', mark], dieAfterMs)));
      }
      const left = (): string[] =>
        commandLines()
          .split('\n')
          .filter((line) => line.includes(mark));
      await eventually(() => left().length === 0);
      expect(left()).toEqual([]);
    });
  });
});

async function startAndDie(person: Person, command: string[], dieAfterMs: number): Promise<void> {
  const { directory: _, ...paths } = makeDirectories(person);
  const product = spawnProduct(person);
  const options = { installation, mounts: [], env: {}, limits: { ...noLimits, pids: 20 }, network: 'none', umask: 0o022 };
  product.send({ name: `moment-${dieAfterMs}`, ...options, ...paths, command, dieAfterMs });
  expect(await once(product, 'close')).toEqual([null, 'SIGKILL']);
}
