import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchContainer } from '../../../src/backends/engine/launch.ts';
import { limitEnforcement } from '../../../src/backends/engine/limits.ts';
import { storageSupport } from '../../../src/backends/engine/storage.ts';
import { bodyFor, exampleSpec, realEngine, run } from '../engine/real-engine.ts';

const real = await realEngine();
describe.skipIf(real.skip)(`inside a real container ${real.skip}`, () => {
  const { engine } = real;
  let directory: string;
  let id: string;
  let unprivileged: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'hermetic-hardening-'));
    for (const name of ['run', 'workspace', 'home', 'data']) {
      await mkdir(join(directory, name));
    }
    await writeFile(join(directory, 'data/file'), 'from the host');
    const mounts = [
      { source: join(directory, 'data'), target: '/data', readOnly: true },
      { source: join(directory, 'data'), target: '/workspace/data', readOnly: false },
    ];
    const runDirectory = join(directory, 'run');
    const staying = exampleSpec({ persistent: true, mounts, env: { GREETING: 'hello "you"\nthere' } });
    const places = { runDirectory, workspace: join(directory, 'workspace'), home: join(directory, 'home') };
    id = await launchContainer(engine, staying.name, bodyFor(real, { spec: staying, ...places }));
    const passing = exampleSpec({ user: 'host' });
    unprivileged = await launchContainer(
      engine,
      passing.name,
      bodyFor(real, { spec: passing, hostUser: { uid: 65534, gid: 65534 }, runDirectory }),
    );
  });
  afterAll(async () => {
    await Promise.all([engine.remove(id), engine.remove(unprivileged)]);
    await rm(directory, { recursive: true, force: true });
  });
  const inside = async (script: string, container = id) => (await run(engine, container, script)).stdout.trim();

  it('gives root five capabilities and no way to get more', async () => {
    const status = await inside('cat /proc/self/status');
    // CHOWN 0, DAC_OVERRIDE 1, FOWNER 3, SETGID 6, SETUID 7
    for (const set of ['CapEff', 'CapPrm', 'CapBnd']) {
      expect(status).toMatch(new RegExp(`^${set}:\\s+0{14}cb$`, 'm'));
    }
    expect(status).toMatch(/^CapAmb:\s+0{16}$/m);
    expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
    expect(status).toMatch(/^Seccomp:\s+2$/m);
  });

  it('gives the host user no capability', async () => {
    const status = await inside('cat /proc/self/status', unprivileged);
    expect(status).toMatch(/^CapEff:\s+0{16}$/m);
    expect(status).toMatch(/^CapBnd:\s+0{15}b$/m);
    expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
    expect(await inside('id -u; id -g; echo $HOME; touch ~/x /workspace/x /tmp/x && echo written', unprivileged)).toBe(
      '65534\n65534\n/home/agent\nwritten',
    );
  });

  it('bounds temporary directories and mounts them nosuid, nodev and noexec except /tmp', async () => {
    const lines = (await inside('cat /proc/mounts')).split('\n').map((line) => line.split(' '));
    const options = (path: string) => {
      const line = lines.find((fields) => fields[1] === path);
      expect(line?.[2], path).toBe('tmpfs');
      return line?.[3]?.split(',') ?? [];
    };
    expect(options('/tmp')).toEqual(expect.arrayContaining(['rw', 'nosuid', 'nodev', 'size=524288k']));
    expect(options('/tmp')).not.toContain('noexec');
    expect(options('/var/tmp')).toEqual(expect.arrayContaining(['rw', 'nosuid', 'nodev', 'noexec', 'size=262144k']));
    expect(options('/run')).toEqual(expect.arrayContaining(['rw', 'nosuid', 'nodev', 'noexec', 'size=65536k']));
    expect(await inside('for d in /tmp /var/tmp; do cp /bin/true $d/t; $d/t && echo $d runs; done; stat -c %a /tmp /var/tmp')).toBe(
      '/tmp runs\n1777\n1777',
    );
  });

  it('writes the limits into the control group of the container', async () => {
    const read = (v1: string, v2: string) => inside(`cat /sys/fs/cgroup/${v1} 2>/dev/null || cat /sys/fs/cgroup/${v2}`);
    expect(await read('pids/pids.max', 'pids.max')).toBe('100');
    expect(await read('memory/memory.limit_in_bytes', 'memory.max')).toBe(String(256 * 1024 * 1024));
    expect(await inside('cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us 2>/dev/null || cut -d" " -f1 /sys/fs/cgroup/cpu.max')).toBe('100000');
  });

  it('kills a command that takes too much memory and keeps the container', async () => {
    const result = await run(engine, id, 'python3 -c "x = bytearray(400 * 1024 * 1024); print(len(x))"');
    expect(result.code).toBe(137);
    expect(await engine.inspect(id)).toMatchObject({ running: true });
  });

  it('runs an init as the first process, which reaps orphans', async () => {
    expect(await inside('tr "\\0" " " < /proc/1/cmdline')).toMatch(/init -- sleep 600/);
    // To a shell a process is there until somebody has waited for it.
    const orphan = '(setsid sleep 0.1 & echo $! >/tmp/orphan)';
    expect(await inside(`${orphan}; for i in {1..600}; do kill -0 "$(</tmp/orphan)" || { echo gone; break; }; sleep 0.1; done`)).toBe(
      'gone',
    );
  });

  it('hides the engine, the devices, the host and other processes', async () => {
    expect(
      await inside('find / -xdev -name "*docker.sock" 2>/dev/null; ls /var/run/docker.sock /run/docker.sock 2>/dev/null; echo none'),
    ).toBe('none');
    expect(
      await inside('mknod /tmp/sda b 8 0 2>&1; mount -t tmpfs x /mnt 2>&1; unshare -m true 2>&1; chroot / true 2>&1; dmesg 2>&1 | head -1'),
    ).toMatch(/mknod.*permitted[\s\S]*mount.*(denied|permitted)[\s\S]*unshare.*permitted[\s\S]*chroot.*permitted/i);
    expect(await inside('hostname; ls /sys/class/net')).toBe('sandbox\nlo');
    expect(await inside('ls -d /proc/[0-9]* | wc -l')).toMatch(/^[3-9]$/);
  });

  it('installs packages that change owners and drop to another user', async () => {
    const script = `
      set -e
      cd /usr/local/share && touch owned && chown 33:33 owned && chmod 640 owned && rm owned
      setpriv --reuid 33 --regid 33 --clear-groups id -u
      su -s /bin/sh nobody -c 'id -u'
      mkdir -p /tmp/p/DEBIAN /tmp/p/usr/share/ours
      printf 'Package: ours\\nVersion: 1\\nArchitecture: all\\nMaintainer: x <x@y.z>\\nDescription: x\\n' > /tmp/p/DEBIAN/control
      printf '#!/bin/sh\\nchown nobody /usr/share/ours\\n' > /tmp/p/DEBIAN/postinst; chmod 755 /tmp/p/DEBIAN/postinst
      dpkg-deb --build /tmp/p /tmp/p.deb >/dev/null
      apt-get install -y --no-download /tmp/p.deb >/tmp/log 2>&1 || dpkg -i /tmp/p.deb >/tmp/log 2>&1 || cat /tmp/log
      stat -c %U /usr/share/ours
    `;
    expect(await run(engine, id, script)).toMatchObject({ stdout: '33\n65534\nnobody\n', code: 0 });
  });

  it('ignores the set-user-id bit of a program', async () => {
    const script =
      'cp /usr/bin/id /usr/local/bin/suid && chmod 4755 /usr/local/bin/suid && setpriv --reuid 33 --regid 33 --clear-groups /usr/local/bin/suid -u';
    expect(await inside(script)).toBe('33');
  });

  it('mounts directories where asked, read-only where asked', async () => {
    expect(await inside('cat /data/file; touch /data/x 2>/dev/null || echo " closed"')).toBe('from the host closed');
    await inside('echo inside > /workspace/data/back; echo work > /workspace/w; echo home > ~/h');
    expect(await readFile(join(directory, 'data/back'), 'utf8')).toBe('inside\n');
    expect(await readFile(join(directory, 'workspace/w'), 'utf8')).toBe('work\n');
    expect(await readFile(join(directory, 'home/h'), 'utf8')).toBe('home\n');
    expect(await inside('touch /run/hermetic/x 2>&1')).toMatch(/Read-only/);
  });

  it('passes a value of the environment unchanged', async () => {
    expect(await inside('printf %s "$GREETING"')).toBe('hello "you"\nthere');
    expect(await inside('cat /proc/$$/environ | tr "\\0" "\\n" | cut -d= -f1 | sort | tr "\\n" " "')).toBe(
      'GREETING HOME HOSTNAME PATH there',
    );
  });

  it('logs nothing of the container on the host', async () => {
    const raw = await engine.request<{ LogPath: string; HostConfig: { LogConfig: { Type: string } } }>('GET', `/containers/${id}/json`);
    expect(raw.LogPath).toBe('');
    expect(raw.HostConfig.LogConfig.Type).toBe('none');
  });

  it('reports truthfully which limits are enforced', async () => {
    const storage = await storageSupport(engine, await engine.info(), real.image.id, 1024);
    expect(await storageSupport(engine, await engine.info(), real.image.id, 1024)).toBe(storage);
    const info = await engine.info();
    expect(limitEnforcement(info, storage)).toMatchObject({
      memoryMb: { enforced: true },
      pids: { enforced: true },
      cpus: { enforced: true },
    });
    expect(await engine.list({ 'hermetic.probe': 'storage' })).toEqual([]);
    const limited = exampleSpec({ limits: { cpus: 0, memoryMb: 0, diskMb: 1024, pids: 0 } });
    const launch = launchContainer(engine, limited.name, bodyFor(real, { spec: limited, storageLimited: true }));
    if (storage.enforced) {
      const own = await launch;
      expect((await run(engine, own, 'head -c 1100M /dev/zero > /big')).code).not.toBe(0);
      await engine.remove(own);
    } else {
      await expect(launch).rejects.toMatchObject({ code: 'backend/cannot-honour' });
    }
  });
});
