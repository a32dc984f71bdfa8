import { existsSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/backends/engine/engine.ts';
import { ensureNetworkOf, networkName, removeNetworkIfUnused } from '../../../src/backends/engine/network.ts';
import type { OpenSandbox, SandboxSpec } from '../../../src/core/sandbox.ts';
import { collect } from '../../contracts/sandbox/rig.ts';
import { describeBackend, type TestEngine, withDocker } from '../../engines.ts';
import { until } from '../../until.ts';

interface Network {
  Id: string;
  Name: string;
  Driver: string;
  Internal: boolean;
  Labels: Record<string, string>;
  Options: Record<string, string>;
}

const serve = `
import socket
server = socket.create_server(('0.0.0.0', 8000))
open('ready', 'w').close()
while True:
  client, _ = server.accept()
  client.sendall(b'reached\\n')
  client.close()
`;

await describeBackend('docker', (engine) => {
  describe('the network of a container', () => networkTests(engine));
});

function networkTests(engine: TestEngine): void {
  const { installation } = engine.context;
  const name = networkName(installation);
  const output = async (sandbox: OpenSandbox, command: string): Promise<string> => (await collect(await sandbox.exec({ command }))).stdout;
  const onEngine = <T>(action: (docker: Engine) => Promise<T>): Promise<T> => withDocker(engine.context, action);
  const networks = async (): Promise<Network[]> =>
    (await onEngine((docker) => docker.request<Network[]>('GET', '/networks'))).filter((network) => network.Name === name);
  const remove = (): Promise<void> => onEngine((docker) => docker.request('DELETE', `/networks/${name}`));
  const containerOf = ({ name: sandbox }: SandboxSpec) => onEngine((docker) => docker.inspect(`hermetic-${sandbox}`));
  const wish = { Labels: { 'hermetic.installation': installation }, HostConfig: { NetworkMode: name } };

  afterEach(async () => {
    await Promise.all((await engine.backend.list()).map((remains) => remains.destroy()));
    expect(await networks()).toEqual([]);
  });

  it('puts containers on one network of the installation, where they cannot reach each other', async () => {
    const [first, second] = await Promise.all([
      engine.open(engine.spec({ network: 'open' })),
      engine.open(engine.spec({ network: undefined })),
    ]);
    expect(await networks()).toMatchObject([
      {
        Driver: 'bridge',
        Internal: false,
        Labels: { 'hermetic.installation': installation },
        Options: { 'com.docker.network.bridge.enable_icc': 'false' },
      },
    ]);
    await first.writeFile('serve.py', serve);
    await output(first, 'python3 serve.py >/dev/null 2>&1 &');
    await until('it listens', async () => (await output(first, 'ls')).includes('ready'));
    const address = (await output(first, 'hostname -I')).trim();
    expect(address).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
    const connect = (seconds: number): string =>
      `timeout ${seconds} bash -c 'exec 3<>/dev/tcp/${address}/8000 && head -n 1 <&3' 2>/dev/null || echo refused`;
    expect(await output(first, connect(60))).toBe('reached\n');
    expect(await output(second, connect(5))).toBe('refused\n');
  });

  it('gives a container only its own loopback when the network is off', async () => {
    const sandbox = await engine.open(engine.spec({ network: 'none' }));
    expect(await output(sandbox, 'tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " "; cat /proc/net/route | wc -l')).toBe('lo\n1\n');
    expect(await networks()).toEqual([]);
  });

  it('makes the network once when several containers need it at once', async () => {
    await Promise.all(Array.from({ length: 6 }, () => onEngine((docker) => ensureNetworkOf(docker, wish))));
    expect(await networks()).toHaveLength(1);
    await onEngine((docker) => removeNetworkIfUnused(docker, installation));
  });

  it('removes the network with its last container, running or stopped', async () => {
    const [spec, other] = [engine.spec({ network: 'open' }), engine.spec({ network: 'open' })];
    const [sandbox, last] = [await engine.open(spec), await engine.open(other)];
    await sandbox.destroy();
    expect(await networks()).toHaveLength(1);
    await onEngine((docker) => docker.kill(`hermetic-${other.name}`));
    await last.ended;
    await onEngine((docker) => removeNetworkIfUnused(docker, installation));
    expect(await networks()).toHaveLength(1);
    await last.destroy();
    expect(await networks()).toEqual([]);
  });

  it('removes the network with an ephemeral sandbox, and after a failed open', async () => {
    const sandbox = await engine.open(engine.spec({ network: 'open', persistent: false }));
    await sandbox.close();
    expect(await networks()).toEqual([]);
    const broken = engine.spec({ network: 'open', limits: { cpus: 4096, memoryMb: 1024, diskMb: 0, pids: 256 } });
    await expect(engine.open(broken)).rejects.toThrow(/cpus/i);
    expect(await networks()).toEqual([]);
  });

  it('restores a removed network and keeps the container', async () => {
    const spec = engine.spec({ network: 'open' });
    const sandbox = await engine.open(spec);
    await output(sandbox, 'touch /opt/installed');
    await sandbox.close();
    const before = await containerOf(spec);
    await onEngine((docker) => docker.kill(`hermetic-${spec.name}`));
    await remove();
    const again = await engine.open(spec);
    expect((await containerOf(spec))?.id).toBe(before?.id);
    expect(await output(again, 'ls /opt; tail -n +3 /proc/net/dev | wc -l')).toBe('installed\n2\n');
    await onEngine((docker) => docker.remove(`hermetic-${spec.name}`));
    await remove();
    const other = await engine.open(engine.spec({ network: 'open' }));
    expect(await output(other, 'tail -n +3 /proc/net/dev | wc -l')).toBe('2\n');
  });

  it.each([
    ['another label', { Labels: { 'hermetic.installation': 'somebody-else' } }],
    ['traffic between containers', { Options: {} }],
    ['no way out', { Internal: true }],
  ])('refuses an existing network of the same name that has %s', async (_, change) => {
    const made = await ours();
    await onEngine((docker) => docker.request('POST', '/networks/create', { ...made, ...change }));
    const spec = engine.spec({ network: 'open' });
    await expect(engine.open(spec)).rejects.toMatchObject({
      code: 'sandbox/open-failed',
      message: expect.stringContaining(name),
      hint: expect.stringContaining('docker network rm'),
    });
    expect(await containerOf(spec)).toBeUndefined();
    expect(existsSync(spec.directory)).toBe(false);
    expect(await networks()).toHaveLength(1);
    await remove();
  });

  /** As the product makes it. */
  async function ours(): Promise<Partial<Network>> {
    await onEngine((docker) => ensureNetworkOf(docker, wish));
    const [made] = await networks();
    await remove();
    return { Name: name, Driver: 'bridge', Internal: false, Labels: made?.Labels ?? {}, Options: made?.Options ?? {} };
  }
}
