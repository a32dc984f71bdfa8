import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Hermetic } from '../cli/hermetic.ts';
import { childrenOf, describeBackend } from '../engines.ts';
import { startRelay } from '../relay.ts';
import { until } from '../until.ts';
import { describeContained } from './contained.ts';
import { Program } from './program.ts';

/** Turns without a tool, and everything that shows a status. */
async function talkAndLook(program: Program): Promise<void> {
  for (let turn = 1; turn <= 5; turn++) {
    const before = program.model.requests.length;
    program.api.world.says({ text: `hello ${turn}` });
    await until('the model was asked', () => program.model.requests.length > before);
    await until('it is answered', () => program.texts().filter((text) => text === 'Fine.').length >= turn);
    expect(JSON.stringify(program.model.requests.at(-1)?.body)).toContain('sandbox');
    await page(program, '/api/status');
    await page(program, '/metrics');
  }
  program.api.world.says({ text: '/status' });
  await program.shows('channels:');
}

async function page(program: Program, path: string): Promise<string> {
  const token = readFileSync(join(program.directory, 'web-token'), 'utf8').trim();
  const answer = await fetch(new URL(path, program.link), { headers: { authorization: `Bearer ${token}` } });
  expect(answer.status).toBe(200);
  return await answer.text();
}

/** What the children that a process has seen end took of memory: any child that ends makes it grow. And the children it has. */
function childrenSeen(pid: number): { faults: number; alive: number[] } {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return { faults: Number(fields[8]), alive: childrenOf(pid) };
}

describeContained('backend status on bubblewrap', async () => {
  const program = await Program.start();
  afterAll(() => program.close());

  it('turns without a tool, the page and /status start no process', async () => {
    const before = childrenSeen(program.pid);
    await talkAndLook(program);
    expect(childrenSeen(program.pid)).toEqual(before);
  });

  it('shows a stored proof at once', async () => {
    expect(await page(program, '/metrics')).not.toMatch(/^hermetic_containment_held 1$/m);
    program.api.world.says({ text: '/run echo ran-inside' });
    await program.shows('ran-inside');
    expect(await page(program, '/metrics')).toMatch(/^hermetic_containment_held 1$/m);
    expect(await page(program, '/api/status')).toContain('held when it was tried');
  });

  it('hermetic status shows what the gateway knows', async () => {
    const hermetic = new Hermetic({ HERMETIC_HOME: program.directory, HOME: program.home });
    const { stdout } = await hermetic.run(['status', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ messaging: { used: 'bubblewrap', proof: { held: true } }, gateway: { state: 'running' } });
  });
});

await describeBackend('docker', ({ context }) => {
  describe('backend status on docker', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'hermetic-engine-'));
    const relay = await startRelay('/var/run/docker.sock', join(directory, 'engine.sock'));
    const terminal = { backend: 'docker', docker_host: relay.host, docker_image: context.docker.image, container_disk: 0 };
    const program = await Program.start({ config: { terminal } });
    afterAll(async () => {
      await program.closeWithContainers();
      relay.close();
      rmSync(directory, { recursive: true, force: true });
    });

    it('turns without a tool, the page and /status send the engine no request', async () => {
      const before = relay.requests.length;
      await talkAndLook(program);
      expect(relay.requests.slice(before)).toEqual([]);
    });

    it('the status shows that a sandbox cannot be opened, and that it can be again', async () => {
      expect(await page(program, '/metrics')).toMatch(/^hermetic_backend_usable\{backend="docker"\} 1$/m);
      await relay.stop();
      program.api.world.says({ text: '/run echo one' });
      await until('the status says so', async () => /hermetic_backend_usable\{backend="docker"\} 0/.test(await page(program, '/metrics')));
      expect(JSON.parse(await page(program, '/api/status'))).toMatchObject({ summary: { tone: 'bad' } });
      await relay.restart();
      program.api.world.says({ text: '/run echo ran-$((1+1))' });
      await program.shows('ran-2');
      await until('the status says so', async () => /hermetic_backend_usable\{backend="docker"\} 1/.test(await page(program, '/metrics')));
    });
  });
});
