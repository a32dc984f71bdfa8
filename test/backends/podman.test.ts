import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { proofText, prove } from '../../src/proof/index.ts';
import { collect } from '../contracts/sandbox/rig.ts';
import { sandboxContract } from '../contracts/sandbox.ts';
import { describeBackend, type TestEngine } from '../engines.ts';
import { monitorsOf, startPodman } from '../podman-service.ts';
import { isRequired } from '../required.ts';
import { until } from '../until.ts';
import { containerTests } from './engine/session-container.ts';

const service = await startPodman();
if (typeof service === 'string') {
  it.skipIf(!isRequired('podman'))(`podman works on this machine: ${service}`, () => expect.fail(service));
} else {
  await describeBackend(
    'podman',
    (engine) => {
      sandboxContract(engine);
      describe('the container of a session', () => containerTests(engine));
      describe('a podman service of root', () => serviceTests(engine));
    },
    { options: { podman_host: service.host, podman_image: service.image }, image: service.image, findEngine: service.find },
  );
}

function serviceTests(engine: TestEngine): void {
  it('leaves no process of podman behind, however many commands ran and were looked at', async () => {
    const spec = engine.spec();
    const monitors = (): number[] => monitorsOf(`hermetic-${spec.name}`);
    const sandbox = await engine.open(spec);
    for (let round = 0; round < 5; round += 1) await collect(await sandbox.exec({ command: 'echo some output' }));
    await collect(await sandbox.exec({ command: 'setsid sleep 1000 &' }));
    expect(monitors()).toHaveLength(1);
    await sandbox.close();
    const listed = (await engine.backend.list()).find(({ name }) => name === spec.name);
    expect(await listed?.stop(false)).toBe(false);
    expect(monitors()).toHaveLength(1);
    await engine.backend.check();
    await listed?.destroy();
    await until('none is left', () => monitors().length === 0, { withinMs: 20_000 });
  });

  it('is contained: no attack of the proof succeeds, and none stays unanswered', async () => {
    const hermeticHome = mkdtempSync(join(tmpdir(), 'hermetic-proof-home-'));
    onTestFinished(() => rmSync(hermeticHome, { recursive: true }));
    const [spec, other] = [engine.spec(), engine.spec()];
    const [sandbox, second] = await Promise.all([engine.open(spec), engine.open(other)]);
    const proof = await prove({
      sandbox,
      backend: engine.backend,
      spec,
      hermeticHome,
      engineSockets: [],
      sibling: { spec: other, sandbox: second },
    });
    const unsure = proof.lines.filter(({ verdict }) => verdict === 'broken' || verdict === 'unknown');
    expect(unsure, proofText(proof)).toEqual([]);
    await Promise.all([sandbox.destroy(), second.destroy()]);
  });

  it('puts nothing of the host into a container: neither its names nor variables of podman', async () => {
    const sandbox = await engine.open(engine.spec());
    const run = async (command: string): Promise<string> => (await collect(await sandbox.exec({ command }))).stdout;
    expect(await run('cat /etc/hosts')).toBe('127.0.0.1\tlocalhost sandbox\n::1\tlocalhost ip6-localhost ip6-loopback\n');
    expect(await run('env | cut -d= -f1 | sort | tr "\\n" " "')).not.toMatch(/container|TERM|proxy/i);
    expect(await run('ls ~/.bashrc')).toBe('/root/.bashrc\n');
    await sandbox.destroy();
  });

  it('gives a container the capabilities, filters and limits that docker gives', async () => {
    const sandbox = await engine.open(engine.spec({ limits: { cpus: 1, memoryMb: 256, diskMb: 0, pids: 100 } }));
    const run = async (command: string): Promise<string> => (await collect(await sandbox.exec({ command }))).stdout;
    const status = await run('cat /proc/self/status');
    for (const set of ['CapEff', 'CapPrm', 'CapBnd']) expect(status).toMatch(new RegExp(`^${set}:\\s+0{14}cb$`, 'm'));
    expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
    expect(status).toMatch(/^Seccomp:\s+2$/m);
    const mounts = await run('cat /proc/mounts');
    expect(mounts).toMatch(/^tmpfs \/tmp tmpfs rw,nosuid,nodev\S*size=524288k/m);
    expect(mounts).toMatch(/^tmpfs \/var\/tmp tmpfs rw,nosuid,nodev,noexec\S*size=262144k/m);
    expect(mounts).toMatch(/^tmpfs \/run tmpfs rw,nosuid,nodev,noexec\S*size=65536k/m);
    expect(await run('cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null')).toBe('100\n');
    expect(await run('cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null')).toBe(`${256 * 2 ** 20}\n`);
    expect(await run('find / -xdev -name "*podman.sock" 2>/dev/null; ls /sys/class/net')).toBe('lo\n');
    await sandbox.destroy();
  });

  it('gives the host user no capability, and files that it owns', async () => {
    const users = [vi.spyOn(process, 'getuid').mockReturnValue(1234), vi.spyOn(process, 'getgid').mockReturnValue(1235)];
    const open = engine.open(engine.spec({ user: 'host', persistent: false }));
    const sandbox = await open.finally(() => users.forEach((user) => void user.mockRestore()));
    const { stdout } = await collect(
      await sandbox.exec({ command: 'touch file ~/file; stat -c %u file ~/file; grep ^CapEff /proc/self/status' }),
    );
    expect(stdout).toMatch(/^1234\n1234\nCapEff:\s+0{16}\n$/);
    await sandbox.destroy();
  });
}
