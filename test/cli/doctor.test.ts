import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, watch } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { describeBackend } from '../engines.ts';
import { until } from '../until.ts';
import { Hermetic } from './hermetic.ts';

const engines: Record<string, Record<string, string>> = { bubblewrap: { DOCKER_HOST: 'unix:///nowhere/docker.sock' }, docker: {} };

for (const [kind, environment] of Object.entries(engines)) {
  await describeBackend(kind, ({ context }) => {
    const hermetic = new Hermetic({ TERMINAL_ENV: kind, TERMINAL_DOCKER_IMAGE: context.docker.image, ...environment });
    const place = join(hermetic.home, '.hermetic', 'sandboxes', kind);
    afterAll(() => rm(hermetic.home, { recursive: true, force: true, maxRetries: 10 }));

    it("doctor's checks make no file that a kill could leave behind", async () => {
      const temporary = mkdtempSync(join(hermetic.home, 'temporary-'));
      const made: (string | null)[] = [];
      const watcher = watch(temporary, (_, name) => made.push(name));
      expect((await hermetic.run(['doctor'], { environment: { TMPDIR: temporary } })).stdout).toContain(`${kind}: usable`);
      watcher.close();
      expect(made).toEqual([]);
    });

    it('a killed proof leaves nothing behind for long', async () => {
      const child = hermetic.start(['doctor', '--prove']);
      for (const stream of [child.stdout, child.stderr]) stream?.resume();
      const isMade = (name: string): boolean => existsSync(join(place, name, 'sandbox.json'));
      await until('a sandbox and its sibling are made', () => existsSync(place) && readdirSync(place).filter(isMade).length === 2);
      child.kill('SIGKILL');
      await once(child, 'close');
      expect((await hermetic.run(['sandbox', 'prune'])).stdout).toMatch(/2 were removed/);
      expect(readdirSync(place)).toEqual([]);
      // An engine goes on making a container whose client has died.
      await until('nothing is left', async () => {
        await hermetic.run(['sandbox', 'prune']);
        return (await hermetic.run(['sandbox', 'list'])).stdout === 'There are no sandboxes.\n';
      });
    });
  });
}
