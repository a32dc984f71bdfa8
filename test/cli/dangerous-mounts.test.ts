import { once } from 'node:events';
import { mkdir, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { contextIn } from '../backends.ts';
import { describeBackend } from '../engines.ts';
import { Hermetic } from './hermetic.ts';

await describeBackend('docker', () => {
  const { image } = contextIn('/nowhere').docker;
  const hermetic = new Hermetic({ TERMINAL_ENV: 'docker', TERMINAL_DOCKER_IMAGE: image });
  afterAll(async () => {
    const sources = ['/', '/var', '/run', join(hermetic.home, '.docker')];
    for (const source of sources) await hermetic.run(['sandbox', 'destroy', `${source}:/host:ro`]);
    await rm(hermetic.home, { recursive: true, force: true, maxRetries: 10 });
  });
  const run = (volume: string, allow: boolean, command: string) =>
    hermetic.run(['run', '--session', volume, '--', command], {
      environment: { TERMINAL_DOCKER_VOLUMES: JSON.stringify([volume]), TERMINAL_ALLOW_DANGEROUS_MOUNTS: String(allow) },
    });

  it.each(['/', '/var', '/run'])('%s is mounted only with terminal.allow_dangerous_mounts', async (source) => {
    const refused = await run(`${source}:/host:ro`, false, 'true');
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('allow_dangerous_mounts') });
    const outcome = await run(`${source}:/host:ro`, true, 'ls /host | wc -l; touch /host/x 2>/dev/null || echo refused');
    expect(outcome.stdout, outcome.stderr).toMatch(/^[1-9]\d*\nrefused\n$/);
  });

  it.each([
    ['/', '/host/run/docker.sock'],
    ['/run', '/host/docker.sock'],
  ])('hides the engine socket inside %s', async (source, socket) => {
    const { stdout } = await run(`${source}:/host:ro`, true, `test -S ${socket} && echo socket; cat ${socket}`);
    expect(stdout).toMatch(/^The socket of a container engine is hidden here/);
  });

  it('hides the socket of an engine of the user inside a directory of the home', async () => {
    const directory = join(hermetic.home, '.docker/desktop');
    await mkdir(directory, { recursive: true });
    const server = createServer().listen(join(directory, 'docker.sock'));
    await once(server, 'listening');
    try {
      const { stdout, stderr } = await run(`${join(hermetic.home, '.docker')}:/host:ro`, false, 'cat /host/desktop/docker.sock');
      expect(stdout, stderr).toMatch(/^The socket of a container engine is hidden here/);
    } finally {
      server.close();
    }
  });

  it('refuses the engine socket itself as a mount', async () => {
    const outcome = await run('/var/run/docker.sock:/s', true, 'true');
    expect(outcome).toMatchObject({ code: 2, stderr: expect.stringContaining('socket of a container engine') });
  });
});
