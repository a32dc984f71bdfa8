import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { HealthView } from '../../src/http/parts.ts';
import { Hermetic } from '../cli/hermetic.ts';
import { describeBackend } from '../engines.ts';
import { calls, inTurn, says } from '../fakes/model-server.ts';
import { until } from '../until.ts';
import { Program } from './program.ts';

/** The socket of the engine that the tests use, when it is at its usual place. */
const engineSocket = (process.env.DOCKER_HOST ?? 'unix:///var/run/docker.sock').replace(/^unix:\/\//, '');

async function probe(program: Program, path: string): Promise<{ status: number; health: HealthView }> {
  const answer = await fetch(new URL(path, program.link));
  return { status: answer.status, health: (await answer.json()) as HealthView };
}

await describeBackend('docker', ({ context }) => {
  describe('a gateway whose engine does not run', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'hermetic-no-engine-'));
    const socket = join(directory, 'engine.sock');
    const terminal = { backend: 'docker', docker_image: context.docker.image, docker_host: `unix://${socket}`, network: 'none' };
    const program = await Program.start({ config: { terminal } });
    const hermetic = new Hermetic({ HOME: program.home, HERMETIC_HOME: program.directory });
    afterAll(async () => {
      await program.closeWithContainers();
      rmSync(directory, { recursive: true });
    });
    const ready = () => hermetic.run(['status', '--ready']);
    const reason = /Nothing can be run: no sandbox backend works here \(backend docker\)\. docker: .*engine\.sock/;

    it('starts, and says in its log, its status and its answers to probes why nothing runs', async () => {
      expect(program.output).toMatch(/no sandbox backend works here \(backend docker\)\.\n.*not docker: .*engine\.sock.* Fix: /);
      expect(program.output).toContain('WARNING: Nothing can be run.');
      program.api.world.says({ text: '/status' });
      const { text } = await program.shows('no sandbox backend works here');
      expect(text.split('\n')[0]).toMatch(reason);
      expect(await probe(program, '/livez')).toEqual({ status: 200, health: { ok: true, reasons: [], down: [] } });
      const { status, health } = await probe(program, '/readyz');
      expect(status).toBe(503);
      expect(health).toMatchObject({ ok: false, reasons: [expect.stringMatching(reason)] });
      expect(await ready()).toMatchObject({ code: 1, stdout: expect.stringMatching(/^not ready\nNothing can be run: .*\n/) });
    });

    it('refuses every call of a tool, and goes on talking', async () => {
      program.api.world.says({ text: '/run echo it ran' });
      await program.shows(/docker.*(not running|no-engine|engine\.sock|not installed)/i);
      program.model.script = inTurn(calls(['terminal', { command: 'echo it ran' }]), says('It cannot run.'));
      program.api.world.says({ text: 'run it' });
      await program.shows('It cannot run.');
      expect(program.model.requests.at(-1)?.last.text).toMatch(/engine\.sock|not running/i);
      expect(program.texts().join('\n')).not.toMatch(/^it ran$/m);
    });

    it('runs commands once the engine answers, without a restart', async () => {
      symlinkSync(engineSocket, socket);
      await until('it is ready', async () => (await probe(program, '/readyz')).status === 200, { withinMs: 90_000 });
      expect(await ready()).toMatchObject({ code: 0, stdout: 'ready\n' });
      program.api.world.says({ text: '/run echo it runs now' });
      await program.shows(/^it runs now$/m);
    });
  });

  it('a gateway that requires a sandbox does not start without one', async () => {
    const hermetic = new Hermetic({ TERMINAL_ENV: 'docker', TERMINAL_DOCKER_HOST: 'unix:///nowhere/docker.sock', HERMETIC_WEB_PORT: '0' });
    const { code, stderr } = await hermetic.run(['start', '--require-sandbox']);
    expect([code, stderr]).toEqual([3, expect.stringMatching(/Nothing was started\. Nothing can be run: no sandbox backend works here/)]);
  });
});
