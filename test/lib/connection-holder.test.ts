import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectionHolder, type Ends } from '../../src/lib/connection-holder.ts';
import { itNeeding } from '../needs.ts';
import { until } from '../until.ts';

/** A process that is connected to a server here, and the connection as the server has it. */
async function connected(listen: string, connect: string): Promise<{ child: ChildProcess; socket: Socket }> {
  const server = createServer();
  server.listen(0, listen);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const child = spawn('bash', ['-c', `exec 3<>/dev/tcp/${connect}/${port}; exec sleep 60`], { stdio: 'ignore' });
  const [socket] = (await once(server, 'connection')) as [Socket];
  socket.on('error', () => undefined);
  onTestFinished(() => {
    child.kill('SIGKILL');
    socket.destroy();
    server.close();
  });
  return { child, socket };
}

const endsOf = ({ remoteAddress, remotePort, localAddress, localPort }: Socket): Ends => ({
  remoteAddress,
  remotePort,
  localAddress,
  localPort,
});
const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
const ownAddress = all.find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
const hasIpv6 = all.some(({ address }) => address === '::1');

describe.runIf(process.platform === 'linux')('the other end of a connection', () => {
  it.each([
    ['IPv4', '127.0.0.1', '127.0.0.1', true],
    ['IPv6', '::1', '::1', hasIpv6],
    ['IPv4 at a server for both', '::', '127.0.0.1', hasIpv6],
    ['an address of this machine', '0.0.0.0', ownAddress ?? '', ownAddress !== undefined],
  ])('finds the process that connected, over %s', async (_, listen, connect, isPossible) => {
    if (!isPossible) return;
    const { child, socket } = await connected(listen, connect);
    expect(await connectionHolder(socket)).toEqual({ kind: 'process', pid: child.pid });
  });

  it('reports a connection as gone when its process has ended', async () => {
    const { child, socket } = await connected('127.0.0.1', '127.0.0.1');
    const ends = endsOf(socket);
    child.kill('SIGKILL');
    expect(await until('it is gone', async () => (await connectionHolder(ends)).kind === 'gone')).toBe(true);
  });

  it('reports a connection as remote when no local process holds it', async () => {
    const ends = { remoteAddress: '192.0.2.1', remotePort: 4711, localAddress: '127.0.0.1', localPort: 8080 };
    expect(await connectionHolder(ends)).toEqual({ kind: 'remote' });
  });

  itNeeding(['root'], 'lists the possible processes of a connection when their files cannot be read', async () => {
    const { child, socket } = await connected('127.0.0.1', '127.0.0.1');
    const directory = mkdtempSync(join(tmpdir(), 'hermetic-holder-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    chmodSync(directory, 0o755);
    const copy = join(directory, 'connection-holder.ts');
    writeFileSync(join(directory, 'package.json'), '{ "type": "module" }');
    for (const name of ['connection-holder.ts', 'ip-address.ts'])
      copyFileSync(join(import.meta.dirname, '../../src/lib', name), join(directory, name));
    const script = `import { connectionHolder } from ${JSON.stringify(copy)}; console.log(JSON.stringify(await connectionHolder(JSON.parse(process.argv[1]))));`;
    const args = ['--reuid=65534', '--regid=65534', '--clear-groups', '/proc/self/fd/3', '--input-type=module', '-e', script];
    const node = openSync(process.execPath, 'r');
    const options = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit', node] } as const;
    const holder = JSON.parse(
      execFileSync('setpriv', [...args, JSON.stringify(endsOf(socket))], { ...options, stdio: [...options.stdio] }),
    );
    expect(holder.kind).toBe('hidden');
    expect(holder.pids).toContain(child.pid);
  });
});
