import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { SandboxSpec } from '../../src/core/sandbox.ts';
import { contextIn } from '../backends.ts';
import type { Task } from '../client.ts';
import { identity, type PodmanService, startPodman } from '../podman-service.ts';
import { isRequired } from '../required.ts';
import { specWith } from '../sandbox-spec.ts';

const service = process.getuid?.() === 0 ? await startPodman({ isRootless: true }) : 'only root can make a user for it';
if (typeof service === 'string') {
  it.skipIf(!isRequired('podman'))(`podman works without root on this machine: ${service}`, () => expect.fail(service));
} else {
  describe('podman without root', () => rootlessTests(service));
}

function rootlessTests({ directory, user, host, image }: PodmanService): void {
  const sandboxes = join(directory, 'sandboxes');
  const uid = Number(spawnSync('id', ['-u', user ?? ''], { encoding: 'utf8' }).stdout);
  const { egress: _, ...found } = contextIn(sandboxes);
  const context = { ...found, environment: {}, options: { podman_host: host, podman_image: image } };
  const example = specWith({
    name: 'rootless',
    directory: join(sandboxes, 'podman', 'rootless'),
    image,
    limits: { cpus: 0, memoryMb: 512, diskMb: 0, pids: 100 },
    idleSeconds: 5,
  });

  /** A program of the user, not of root, that runs commands in its sandbox. Of each it tells what was printed at once. */
  async function outputs(spec: SandboxSpec, commands: readonly string[]): Promise<string[]> {
    const task: Task = { kind: 'podman', context, spec, action: 'start', commands };
    const [program = '', ...before] = identity(user, directory);
    const client = join(import.meta.dirname, '../client.ts');
    const child = spawn(program, [...before, process.execPath, client, JSON.stringify(task)], {
      cwd: '/',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(async () => {
      const ended = once(child, 'close');
      child.kill('SIGKILL');
      await ended;
    });
    for await (const line of createInterface(child.stdout)) return JSON.parse(line) as string[];
    throw new Error('the client ended without an answer');
  }

  it('maps root of a container to the user, who owns the files on the host', async () => {
    mkdirSync(sandboxes, { recursive: true });
    spawnSync('chown', [String(uid), sandboxes]);
    const [id, status, home] = await outputs(example, [
      'touch file ~/file; echo $(id -u; stat -c %u file ~/file)',
      "grep -E '^(CapBnd|NoNewPrivs|Seccomp):' /proc/self/status",
      'ls -A ~',
    ]);
    expect(id).toBe('0 0 0\n');
    expect(status).toMatch(/CapBnd:\s+0{14}cb\nNoNewPrivs:\s+1\nSeccomp:\s+2/);
    expect(home).toContain('.bashrc');
    for (const file of ['workspace/file', 'home/file']) expect(statSync(join(example.directory, file)).uid).toBe(uid);
  });

  it('runs as the user of the host with the same number inside, where that is asked for', async () => {
    const spec: SandboxSpec = { ...example, name: 'keep-id', directory: join(sandboxes, 'podman', 'keep-id'), user: 'host' };
    const [id, status] = await outputs(spec, [
      'touch file ~/file; echo $(id -u; stat -c %u file ~/file)',
      "grep -E '^(CapEff|CapBnd|NoNewPrivs):' /proc/self/status",
    ]);
    expect(id).toBe(`${uid} ${uid} ${uid}\n`);
    expect(status).toMatch(/CapEff:\s+0{16}\nCapBnd:\s+0{16}\nNoNewPrivs:\s+1/);
    for (const file of ['workspace/file', 'home/file']) expect(statSync(join(spec.directory, file)).uid).toBe(uid);
  });
}
