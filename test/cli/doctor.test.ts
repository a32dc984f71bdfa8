import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
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
    afterAll(() => rm(hermetic.home, { recursive: true, force: true }));

    it('a proof that is killed leaves nothing for long', async () => {
      const child = hermetic.start(['doctor', '--prove']);
      for (const stream of [child.stdout, child.stderr]) stream?.resume();
      const isMade = (name: string): boolean => existsSync(join(place, name, 'sandbox.json'));
      await until('a sandbox and its sibling are made', () => existsSync(place) && readdirSync(place).filter(isMade).length === 2);
      child.kill('SIGKILL');
      await once(child, 'close');
      expect((await hermetic.run(['sandbox', 'prune'])).stdout).toMatch(/2 were removed/);
      expect(readdirSync(place)).toEqual([]);
      expect((await hermetic.run(['sandbox', 'list'])).stdout).toBe('There are no sandboxes.\n');
    });
  });
}
