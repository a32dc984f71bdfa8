import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { containerBody, placesInside } from '../../../src/backends/engine/container.ts';
import { parseExtraArguments } from '../../../src/backends/engine/extra-arguments.ts';
import { resolveMounts } from '../../../src/backends/engine/mounts.ts';
import { specHash } from '../../../src/backends/engine/spec-hash.ts';
import type { Mount, SandboxSpec } from '../../../src/core/sandbox.ts';
import { exampleInput, exampleSpec } from './real-engine.ts';

const badValue = expect.objectContaining({ code: 'config/bad-value' });

function hostConfig(spec: Partial<SandboxSpec>, input: Parameters<typeof exampleInput>[0] = {}) {
  return containerBody(exampleInput({ spec: exampleSpec(spec), ...input })).HostConfig;
}

describe('the body of a container', () => {
  it('drops every capability except those that installing packages needs', () => {
    expect(hostConfig({})).toMatchObject({
      Privileged: false,
      CapDrop: ['ALL'],
      CapAdd: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'SETGID', 'SETUID'],
      SecurityOpt: ['no-new-privileges'],
      Init: true,
      LogConfig: { Type: 'none' },
      RestartPolicy: { Name: 'no' },
    });
  });

  it('allows only root to change to another user', () => {
    const body = containerBody(exampleInput({ spec: exampleSpec({ user: 'host' }), hostUser: { uid: 1000, gid: 1001 } }));
    expect(body.User).toBe('1000:1001');
    expect(body.Env).toContain('HOME=/home/agent');
    expect(body.HostConfig.CapAdd).toEqual(['CHOWN', 'DAC_OVERRIDE', 'FOWNER']);
    expect(hostConfig({ user: 'host' }, { hostUser: { uid: 0, gid: 0 } }).CapAdd).toContain('SETUID');
    expect(() => hostConfig({ user: 'host' })).toThrow(expect.objectContaining({ code: 'backend/cannot-honour' }));
  });

  it('overrides the entrypoint and command of the image', () => {
    expect(containerBody(exampleInput({ guestCommand: ['bash', '/run/hermetic/forker'] }))).toMatchObject({
      Entrypoint: ['bash', '/run/hermetic/forker'],
      Cmd: [],
      WorkingDir: '/',
    });
  });

  it('sets the limits, and none where none is asked for', () => {
    expect(hostConfig({ limits: { cpus: 1.5, memoryMb: 512, diskMb: 100, pids: 64 } }, { storageLimited: true })).toMatchObject({
      NanoCpus: 1_500_000_000,
      Memory: 536_870_912,
      MemorySwap: 536_870_912,
      PidsLimit: 64,
      StorageOpt: { size: '100m' },
    });
    const none = hostConfig({ limits: { cpus: 0, memoryMb: 0, diskMb: 0, pids: 0 } }, { storageLimited: true });
    for (const key of ['NanoCpus', 'Memory', 'MemorySwap', 'PidsLimit', 'StorageOpt']) {
      expect(none).not.toHaveProperty(key);
    }
    expect(hostConfig({}, { storageLimited: false })).not.toHaveProperty('StorageOpt');
  });

  it('keeps workspace and home on the host when persistent, and in memory otherwise', () => {
    const staying = hostConfig({ persistent: true }, { workspace: '/s/a:b,c', home: '/s/home', runDirectory: '/s/run' });
    expect(staying.AutoRemove).toBe(false);
    expect(staying.Mounts).toEqual([
      { Type: 'bind', Source: '/s/a:b,c', Target: '/workspace', ReadOnly: false },
      {
        Type: 'volume',
        Target: '/root',
        ReadOnly: false,
        VolumeOptions: { DriverConfig: { Name: 'local', Options: { type: 'none', o: 'bind', device: '/s/home' } } },
      },
      { Type: 'bind', Source: '/s/run', Target: '/run/hermetic', ReadOnly: true },
    ]);
    expect(Object.keys(staying.Tmpfs)).toEqual(['/tmp', '/var/tmp', '/run']);
    const passing = hostConfig({ persistent: false }, { workspace: '/s/w', home: '/s/h', runDirectory: '/s/run' });
    expect(passing.AutoRemove).toBe(true);
    expect(passing.Mounts.map((mount) => mount.Target)).toEqual(['/run/hermetic']);
    expect(passing.Tmpfs['/workspace']).toMatch(/exec,.*size=128m/);
    expect(passing.Tmpfs['/root']).toMatch(/mode=700.*size=128m/);
  });

  it('replaces its own mount by a mount of the user only at the same path', () => {
    const project: Mount = { source: '/p', target: '/workspace/', readOnly: true };
    const replaced = hostConfig({ persistent: true, mounts: [project] }, { workspace: '/s/w', home: '/s/h' });
    expect(replaced.Mounts.filter((mount) => mount.Target === '/workspace')).toEqual([
      { Type: 'bind', Source: '/p', Target: '/workspace', ReadOnly: true },
    ]);
    expect(hostConfig({ mounts: [project] }).Tmpfs).not.toHaveProperty('/workspace');
    const beside = hostConfig(
      { persistent: true, mounts: [{ source: '/p', target: '/workspace/project', readOnly: false }] },
      { workspace: '/s/w', home: '/s/h' },
    );
    expect(beside.Mounts.map((mount) => mount.Target)).toEqual(['/workspace', '/root', '/workspace/project']);
  });

  it.each([
    ['/var/run/docker.sock', '/x'],
    ['/var/run/../run/docker.sock', '/x'],
    ['/home/me/.colima/default/docker.sock', '/x'],
    ['/run/user/1000/podman/podman.sock', '/x'],
    ['relative', '/x'],
    ['/a', 'x'],
    ['/a', '/'],
    ['/a', '/proc'],
    ['/a', '/sys/fs/cgroup'],
    ['/a', '/dev/shm'],
    ['/a', '/run'],
    ['/a', '/run/hermetic'],
    ['/a', '/run/hermetic/x'],
    ['/a', '/run/x/../hermetic'],
    ['/a', '/var/run/hermetic'],
  ])('refuses to mount %s at %s', (source, target) => {
    expect(() => hostConfig({ mounts: [{ source, target, readOnly: true }] })).toThrow(badValue);
  });

  it('refuses two mounts at one path', () => {
    const mounts = ['/a', '/b'].map((source) => ({ source, target: '/data', readOnly: true }));
    expect(() => hostConfig({ mounts })).toThrow(badValue);
  });

  it('sets the network mode, and refuses arguments that contradict it', () => {
    expect(hostConfig({ network: 'none' }).NetworkMode).toBe('none');
    expect(hostConfig({ network: 'open' }).NetworkMode).toBe('hermetic-example');
    expect(hostConfig({ network: undefined }).NetworkMode).toBe('hermetic-example');
    expect(hostConfig({ network: 'open' }, { extraArgs: ['--network', 'lab'] }).NetworkMode).toBe('lab');
    expect(() => hostConfig({ network: 'none' }, { extraArgs: ['--network=lab'] })).toThrow(badValue);
    expect(hostConfig({ network: 'restricted' })).toMatchObject({ NetworkMode: 'none', Dns: ['127.0.0.1'] });
    for (const extra of ['--network=lab', '--dns=192.0.2.1']) {
      expect(() => hostConfig({ network: 'restricted' }, { extraArgs: [extra] })).toThrow(badValue);
    }
  });

  it('labels the container, and refuses labels of its own from the configuration', () => {
    const input = exampleInput({ extraArgs: ['--label', 'team=a=b'] });
    expect(containerBody(input).Labels).toEqual({
      team: 'a=b',
      'hermetic.installation': 'example',
      'hermetic.name': input.spec.name,
      'hermetic.session': input.spec.session,
      'hermetic.image': 'hermetic-test:base',
      'hermetic.spec': specHash(input.spec, input),
      'hermetic.version': '1',
    });
    expect(() => parseExtraArguments(['--label=hermetic.installation=mine'])).toThrow(badValue);
  });

  it('sets HOME to the declared home unless the configuration sets it', () => {
    expect(containerBody(exampleInput()).Env).toEqual([`HOME=${placesInside(exampleInput().spec).home}`]);
    expect(containerBody(exampleInput({ spec: exampleSpec({ env: { HOME: '/x', A: '1' } }) })).Env).toEqual(['HOME=/x', 'A=1']);
  });
});

describe('mounts on this disk', () => {
  it('resolves the sources of mounts, and refuses those that lead to an engine or nowhere', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'hermetic-mounts-'));
    const path = join(directory, 'engine', 'my-docker-engine');
    await mkdir(join(directory, 'engine'));
    await mkdir(join(directory, 'data'));
    await writeFile(join(directory, 'file'), '');
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(path, resolve));
    for (const [name, target] of Object.entries({ harmless: 'data', sly: 'engine', slyer: 'engine/my-docker-engine', broken: 'nowhere' })) {
      await symlink(join(directory, target), join(directory, name));
    }
    const resolve = (source: string) =>
      resolveMounts([{ source: join(directory, source), target: '/x', readOnly: true }], { kind: 'unix', path });
    try {
      expect(await resolve('harmless')).toEqual([{ source: join(directory, 'data'), target: '/x', readOnly: true }]);
      expect(await resolve('file')).toMatchObject([{ source: join(directory, 'file') }]);
      for (const source of ['sly', 'slyer', 'broken', 'nowhere', 'engine', '.']) {
        await expect(resolve(source), source).rejects.toMatchObject({ code: 'config/bad-value' });
      }
    } finally {
      await new Promise((done) => server.close(done));
      await rm(directory, { recursive: true, force: true });
    }
  });
});

describe('docker_extra_args', () => {
  it('turns docker_extra_args into settings of the container', () => {
    const args = [
      '--shm-size=1g',
      '--ulimit',
      'nofile=1024:2048',
      '--ulimit=core=0',
      '--add-host',
      'db:10.0.0.1',
      '--dns=1.1.1.1',
      '--hostname',
      'box',
      '--runtime=runsc',
      '--gpus',
      'all',
    ];
    const body = containerBody(exampleInput({ extraArgs: args }));
    expect(body.Hostname).toBe('box');
    expect(body.HostConfig).toMatchObject({
      ShmSize: 1_073_741_824,
      Ulimits: [
        { Name: 'nofile', Soft: 1024, Hard: 2048 },
        { Name: 'core', Soft: 0, Hard: 0 },
      ],
      ExtraHosts: ['db:10.0.0.1'],
      Dns: ['1.1.1.1'],
      Runtime: 'runsc',
      DeviceRequests: [{ Count: -1, Capabilities: [['gpu']] }],
    });
    expect(() => containerBody(exampleInput({ extraArgs: args, runtime: 'runc' }))).toThrow(badValue);
  });

  it.each([
    '--privileged',
    '--privileged=true',
    '--cap-add=SYS_ADMIN',
    '--security-opt=seccomp=unconfined',
    '--pid=host',
    '--ipc=host',
    '--userns=host',
    '--volume=/:/host',
    '-v/:/host',
    '-v',
    '--mount=type=bind,src=/,dst=/host',
    '--device=/dev/sda',
    '--network=host',
    '--network=container:x',
    '--net=host',
    '-e',
    '-it',
    '--memory=1g',
    '--shm-size',
    '--shm-size=',
    '--shm-size=lots',
    '--shm-size 1g',
    '--ulimit=nofile',
    '--add-host=x',
    '--gpus=0',
    '--toString',
    '__proto__',
    'alpine',
    '',
  ])('refuses %j in docker_extra_args', (argument) => {
    expect(() => parseExtraArguments([argument])).toThrow(badValue);
  });

  it.each([
    ['--volume=/a:/b', /docker_volumes/],
    ['--cpus=2', /container_cpu/],
    ['--env=A=b', /docker_env/],
    ['--pids-limit=5', /container_pids/],
    ['--user=1', /docker_run_as_host_user/],
  ])('names the configuration key that replaces %s', (argument, hint) => {
    expect(() => parseExtraArguments([argument])).toThrow(expect.objectContaining({ hint: expect.stringMatching(hint) }));
  });
});

describe('the hash of a spec', () => {
  const input = exampleInput({ hostUser: { uid: 1, gid: 1 } });
  const base = specHash(input.spec, input);
  const changed = (spec: Partial<SandboxSpec>, extras: Partial<typeof input> = {}) =>
    specHash({ ...input.spec, ...spec }, { ...input, ...extras });

  it('keeps the spec hash when only names, workdir and idle time differ', () => {
    expect(changed({ session: 'other', idleSeconds: 1, workdir: '/tmp', name: 'other', directory: '/other' })).toBe(base);
    expect(changed({ env: { A: '1', B: '2' } })).toBe(changed({ env: { B: '2', A: '1' } }));
    expect(base).toMatch(/^[0-9a-f]{64}$/);
  });

  it('changes the spec hash with every setting of the container', () => {
    const limits = input.spec.limits;
    const all = [
      base,
      changed({}, { imageId: 'sha256:1' }),
      changed({}, { guestVersion: '2' }),
      changed({}, { runtime: 'runsc' }),
      changed({}, { storageLimited: true }),
      changed({}, { extraArgs: ['--gpus=all'] }),
      changed({}, { workspace: '/w' }),
      changed({}, { home: '/w' }),
      changed({}, { runDirectory: '/w' }),
      changed({ env: { A: '1' } }),
      changed({ env: { A: '2' } }),
      changed({ env: { A1: '' } }),
      changed({ mounts: [{ source: '/a', target: '/b', readOnly: true }] }),
      changed({ mounts: [{ source: '/a', target: '/b', readOnly: false }] }),
      changed({ limits: { ...limits, cpus: 2 } }),
      changed({ limits: { ...limits, memoryMb: 2 } }),
      changed({ limits: { ...limits, diskMb: 2 } }),
      changed({ limits: { ...limits, pids: 2 } }),
      changed({ network: 'open' }),
      changed({ persistent: true }),
      changed({ user: 'host' }),
      changed({ user: 'host' }, { hostUser: { uid: 2, gid: 1 } }),
      changed({ env: { A: '1' } }, { installation: 'other' }),
    ];
    expect(new Set(all).size).toBe(all.length);
  });
});
