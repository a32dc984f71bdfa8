import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { removeTree } from '../../src/backends/sandbox-directory.ts';
import { describeBackend } from '../engines.ts';
import { startRelay } from '../relay.ts';
import { until } from '../until.ts';
import { Hermetic } from './hermetic.ts';

await describeBackend('bubblewrap', () => {
  const hermetic = new Hermetic({ TERMINAL_ENV: 'bubblewrap' });
  afterAll(() => removeTree(hermetic.home));

  it('names a session whose directories were all removed, and forgets it when a person destroys it', async () => {
    await hermetic.run(['run', '--', 'true']);
    const place = join(hermetic.home, '.hermetic', 'sandboxes');
    await removeTree(place);
    expect((await hermetic.run(['status'])).stdout).toMatch(/nothing of it is left: .* or give it up with `hermetic sandbox destroy`/);
    expect((await hermetic.run(['sandbox', 'list'])).stdout).toMatch(/cli default +bubblewrap +missing/);
    const destroyed = await hermetic.run(['sandbox', 'destroy', 'cli default']);
    expect(destroyed.stdout).toBe(
      `The bubblewrap sandbox of cli default was forgotten. Nothing in ${join(place, 'bubblewrap')}/${destroyed.stdout.split('/').at(-1)}`,
    );
    expect((await hermetic.run(['sandbox', 'list'])).stdout).toBe('There are no sandboxes.\n');
    expect((await hermetic.run(['status'])).stdout).not.toContain('WARNING');
  });
});

const relay = await startRelay('/var/run/docker.sock');
afterAll(() => relay.close());

await describeBackend(
  'docker',
  (engine) => {
    const { context } = engine;
    const hermetic = new Hermetic({
      TERMINAL_ENV: 'docker',
      DOCKER_HOST: relay.host,
      TERMINAL_DOCKER_IMAGE: context.docker.image,
      TERMINAL_NETWORK: 'open',
      HERMETIC_WEB_PORT: '0',
    });
    const [before, after] = ['before', 'after'].map((name) => join(hermetic.home, name)) as [string, string];
    const run = (place: string, ...args: string[]) => hermetic.run(args, { environment: { TERMINAL_SANDBOX_DIR: place } });
    const volumes = async (): Promise<string[]> => {
      const filters = encodeURIComponent(JSON.stringify({ label: ['hermetic.installation'] }));
      return await engine.withEngine(async (found) => {
        const { Volumes } = await found.request<{ Volumes: { Name: string; Labels: object }[] | null }>(
          'GET',
          `/volumes?filters=${filters}`,
        );
        return (Volumes ?? []).map(({ Name }) => Name).sort();
      });
    };
    const nameOf = async (session: string, place: string): Promise<string> =>
      (JSON.parse((await run(place, 'sandbox', 'show', session, '--json')).stdout) as { name: string }).name;
    /** Starts a gateway with its sandboxes in this directory, and returns what it said until it ran. */
    const started = async (place: string): Promise<string> => {
      const child = hermetic.start(['start'], { TERMINAL_SANDBOX_DIR: place });
      let printed = '';
      for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data: Buffer) => (printed += data.toString()));
      await until('the gateway runs', () => printed.includes('#code='), { withinMs: 60_000 });
      child.kill('SIGTERM');
      await once(child, 'close');
      return printed;
    };
    afterAll(async () => {
      await run(before, 'sandbox', 'destroy', 'default');
      await removeTree(hermetic.home);
    });

    it('a gateway whose directory of sandboxes moved warns, and removes no volume of a sleeping session', {
      timeout: 120_000,
    }, async () => {
      await run(before, 'run', '--', 'echo precious >file');
      const name = await nameOf('default', before);
      const there = (await volumes()).filter((volume) => volume.includes(name));
      expect(there).toHaveLength(2);

      const said = await started(after);
      const warning = `The sandbox of 1 session has its directory in ${before}, and terminal.sandbox_dir is ${after}: move the content of ${before} to ${after}, or set terminal.sandbox_dir back to ${before}.`;
      expect(said).toContain(`WARNING: ${warning}`);
      expect((await run(after, 'status')).stdout).toContain(warning);
      expect((await run(after, 'doctor')).stdout).toContain(warning);
      const pruned = (await run(after, 'sandbox', 'prune', '--unknown')).stdout;
      expect(pruned).toMatch(/^0 were removed/);
      expect(pruned).toMatch(new RegExp(`docker +${name} +has the files of a session, whose directory is not here`));
      expect((await volumes()).filter((volume) => volume.includes(name))).toEqual(there);

      expect((await started(before)).includes('WARNING: The sandbox')).toBe(false);
      expect((await run(before, 'run', '--', 'cat file')).stdout).toBe('precious\n');
      // The person says so, also from where the directory is not.
      expect((await run(after, 'sandbox', 'destroy', name)).code).toBe(0);
      expect((await volumes()).filter((volume) => volume.includes(name))).toEqual([]);
    });
  },
  { title: 'docker by a port', docker: { docker_host: relay.host } },
);
