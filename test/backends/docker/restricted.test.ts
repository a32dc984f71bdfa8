import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/backends/engine/engine.ts';
import { pathsIn } from '../../../src/backends/sandbox-directory.ts';
import type { Egress } from '../../../src/core/egress.ts';
import { type OpenSandbox, quiet, type SandboxSpec } from '../../../src/core/sandbox.ts';
import { egressEnvironment } from '../../../src/egress/environment.ts';
import { shellQuote } from '../../../src/lib/shell-quote.ts';
import { backendOf } from '../../backends.ts';
import { collect, sleepers, sleepMark, untilAsleep } from '../../contracts/sandbox/rig.ts';
import { describeBackend, type TestEngine } from '../../engines.ts';
import { startPodman } from '../../podman-service.ts';
import { until } from '../../until.ts';

/** Prints whether a program inside can connect to the proxy. */
const tryProxy = `
import socket
try:
  socket.create_connection(('127.0.0.1', 3128)).close()
  print('open')
except ConnectionRefusedError:
  print('refused')
`;

/** Prints the answer of the proxy about a host. */
const askProxy = `
import socket
with socket.create_connection(('127.0.0.1', 3128)) as proxy:
  proxy.sendall(b'CONNECT unlisted.example:443 HTTP/1.1\\r\\nHost: unlisted.example:443\\r\\n\\r\\n')
  while chunk := proxy.recv(4096): print(chunk.decode(), end='')
`;

/** Prints the address of a host, and that a connection to it ends. */
const connectByName = `
import socket
address = socket.gethostbyname('unlisted.example')
print(address)
try:
  with socket.create_connection((address, 443)) as host:
    host.sendall(b'hello')
    print('cut' if host.recv(1) == b'' else 'answered')
except ConnectionResetError:
  print('cut')
`;

/** Writes down again and again whether it can connect to the proxy. */
const watchProxy = `
import os, socket, time
while True:
  try:
    socket.create_connection(('127.0.0.1', 3128)).close()
    seen = 'open'
  except ConnectionRefusedError:
    seen = 'refused'
  with open('now', 'w') as now: now.write(seen)
  os.replace('now', 'seen')
  time.sleep(0.05)
`;

/** Tries to reach each address by TCP, UDP and ICMP, and prints which answered. Its own loopback answers ICMP. */
const reachOut = `
import socket, sys
port, *addresses = sys.argv[1:]
for address in addresses:
  family = socket.AF_INET6 if ':' in address else socket.AF_INET
  echo = socket.IPPROTO_ICMPV6 if ':' in address else socket.IPPROTO_ICMP
  for kind, protocol in [(socket.SOCK_STREAM, 0), (socket.SOCK_DGRAM, 0), (socket.SOCK_DGRAM, echo), (socket.SOCK_RAW, echo)]:
    try:
      with socket.socket(family, kind, protocol) as out:
        out.settimeout(5)
        if protocol != 0 and address in ('127.0.0.1', '::1'): continue
        out.connect((address, int(port)))
        out.send(b'\\x08\\x00\\xf7\\xff\\x00\\x00\\x00\\x00')
        if kind == socket.SOCK_STREAM or protocol != 0: print('reached', address, kind, protocol, out.recv(1))
    except OSError:
      pass
print('done')
`;

/** Takes the port of the proxy as soon as it is free, and keeps it. */
const squat = `
import socket, time
open('trying', 'w').close()
while True:
  server = socket.socket()
  try:
    server.bind(('127.0.0.1', 3128))
    server.listen()
    open('squatted', 'w').close()
    break
  except OSError:
    server.close()
    time.sleep(0.01)
time.sleep(100000)
`;

/** Processes from outside a container that are in its network namespace. */
function visitorsOf(container: number): number[] {
  const space = (pid: number, kind: string): string => {
    try {
      return readlinkSync(`/proc/${pid}/ns/${kind}`);
    } catch {
      return '';
    }
  };
  const inside = (pid: number, kind: string): boolean => space(pid, kind) === space(container, kind);
  const pids = readdirSync('/proc').map(Number).filter(Boolean);
  return pids.filter((pid) => inside(pid, 'net') && !inside(pid, 'pid'));
}

await describeBackend('docker', (engine) => {
  describe('a restricted container', () => restrictedTests(engine));
});

const podman = await startPodman();
if (typeof podman !== 'string') {
  await describeBackend(
    'podman',
    (engine) => {
      describe('a restricted container', () => restrictedTests(engine));
    },
    { options: { podman_host: podman.host, podman_image: podman.image }, image: podman.image, findEngine: podman.find },
  );
}

function restrictedTests(engine: TestEngine): void {
  const spec = (wishes: Partial<SandboxSpec> = {}) => engine.spec({ network: 'restricted', env: egressEnvironment, ...wishes });
  const output = async (sandbox: OpenSandbox, command: string, args: string[] = []): Promise<string> =>
    (await collect(await sandbox.exec({ command, args }))).stdout;
  const python = (sandbox: OpenSandbox, script: string, args: string[] = []): Promise<string> =>
    output(sandbox, 'python3 -c "$@"', [script, ...args]);
  const proxy = (sandbox: OpenSandbox): Promise<string> => python(sandbox, tryProxy);
  const onEngine = <T>(action: (docker: Engine) => Promise<T>): Promise<T> => engine.withEngine(action);
  const containerOf = ({ name }: SandboxSpec) => onEngine((docker) => docker.inspect(`hermetic-${name}`));
  const fileOf = ({ directory }: SandboxSpec, name: string): string => join(pathsIn(directory).workspace, name);
  const startSquatter = async (sandbox: OpenSandbox, wanted: SandboxSpec): Promise<void> => {
    await output(sandbox, 'setsid python3 -c "$1" >/dev/null 2>&1 &', [squat]);
    await until('it tries to take the port', () => existsSync(fileOf(wanted, 'trying')));
  };

  it('has only its own loopback, with the proxy there', async () => {
    const sandbox = await engine.open(spec());
    expect(await output(sandbox, 'tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " "; wc -l </proc/net/route')).toBe('lo\n1\n');
    expect(await proxy(sandbox)).toBe('open\n');
    await sandbox.destroy();
  });

  it('asks its own loopback for names', async () => {
    const sandbox = await engine.open(spec());
    expect(await output(sandbox, 'grep ^nameserver /etc/resolv.conf')).toBe('nameserver 127.0.0.1\n');
    await sandbox.destroy();
  });

  it('is told by the proxy that no rule allows a host, and the command reports it', async () => {
    const sandbox = await engine.open(spec());
    const handle = await sandbox.exec({ command: 'python3 -c "$1"', args: [askProxy] });
    const { stdout } = await collect(handle);
    expect(stdout).toMatch(/^HTTP\/1\.1 403 /);
    expect(stdout).toMatch(/^x-hermetic: blocked\r?$/im);
    expect((await handle.connections()).blocked).toEqual([{ host: 'unlisted.example', port: 443, reason: 'unlisted', count: 1 }]);
    await sandbox.destroy();
  });

  it('is cut off when it connects by name to a host that no rule allows, and the command reports it', async () => {
    const sandbox = await engine.open(spec());
    const handle = await sandbox.exec({ command: 'python3 -c "$1"', args: [connectByName] });
    const { stdout } = await collect(handle);
    expect(stdout).toMatch(/^127\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.\d+\.\d+\ncut\n$/);
    expect((await handle.connections()).blocked).toEqual([{ host: 'unlisted.example', port: 443, reason: 'unlisted', count: 1 }]);
    await sandbox.destroy();
  });

  it('reaches no address of the host or the world', async () => {
    const arrivals: string[] = [];
    const server = createServer((socket) => {
      arrivals.push(`TCP from ${socket.remoteAddress}`);
      socket.end('x');
    });
    server.listen(0, '::');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const packets = createSocket({ type: 'udp6' }).on('message', (_, { address }) => arrivals.push(`UDP from ${address}`));
    packets.bind(port, '::');
    await once(packets, 'listening');
    const own = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ address }) => address));
    const world = ['192.0.2.1', '2001:db8::1', '169.254.169.254', '10.0.2.2', '172.17.0.1', '::ffff:192.0.2.1'];
    const sandbox = await engine.open(spec());
    try {
      expect(await python(sandbox, reachOut, [String(port), ...own, ...world])).toBe('done\n');
      expect(arrivals).toEqual([]);
    } finally {
      server.close();
      packets.close();
      await sandbox.destroy();
    }
  });

  it('has no network while no program is attached, and has it again when one comes back', async () => {
    const wanted = spec();
    const first = await engine.startClient({
      spec: wanted,
      action: 'start',
      commands: [`python3 -c ${shellQuote(watchProxy)} & echo started`],
    });
    const { id, pid } = (await containerOf(wanted)) ?? expect.fail();
    const seen = () => readFile(fileOf(wanted, 'seen'), 'utf8').catch(() => '');
    await until('it can connect', async () => (await seen()) === 'open');
    await first.kill();
    await until('it cannot connect any more', async () => (await seen()) === 'refused');
    expect(visitorsOf(pid)).toEqual([]);
    const second = await engine.open(wanted);
    await until('it can connect again', async () => (await seen()) === 'open');
    expect((await containerOf(wanted))?.id).toBe(id);
    await second.close();
    await until('it cannot connect any more', async () => (await seen()) === 'refused');
    const third = await engine.open(wanted);
    await until('it can connect again', async () => (await seen()) === 'open');
    await third.destroy();
  });

  it('is replaced, with its files, when a process inside took the port of the proxy while no program was attached', async () => {
    const wanted = spec();
    const first = await engine.open(wanted);
    await startSquatter(first, wanted);
    await output(first, 'echo kept >file');
    const before = await containerOf(wanted);
    await first.close();
    await until('the process has the port', () => existsSync(fileOf(wanted, 'squatted')));
    const told = engine.notices.length;
    const second = await engine.open(wanted);
    expect(engine.notices.slice(told).join()).toMatch(/held a port.*replaced/);
    expect((await containerOf(wanted))?.id).not.toBe(before?.id);
    expect(await output(second, 'cat file')).toBe('kept\n');
    expect(await proxy(second)).toBe('open\n');
    await second.destroy();
  });

  it('keeps its network when the first of two programs is killed', async () => {
    const wanted = spec();
    const first = await engine.startClient({ spec: wanted, action: 'start', commands: ['echo started'] });
    const before = await containerOf(wanted);
    const second = await engine.open(wanted);
    expect(await proxy(second)).toBe('open\n');
    await first.kill();
    await until('the second program has opened the network', async () => (await proxy(second)) === 'open\n');
    expect((await containerOf(wanted))?.id).toBe(before?.id);
    await second.destroy();
  });

  it('ends with the reason when a process inside takes the port between two programs', async () => {
    const wanted = spec();
    const first = await engine.startClient({ spec: wanted, action: 'start', commands: ['echo started'] });
    const second = await engine.open(wanted);
    await startSquatter(second, wanted);
    await first.kill();
    expect(await second.ended).toMatch(/network.*port 3128/);
    expect((await containerOf(wanted))?.running).toBe(false);
    await second.close();
    const third = await engine.open(wanted);
    expect(await proxy(third)).toBe('open\n');
    expect(existsSync(fileOf(wanted, 'squatted'))).toBe(true);
    await third.destroy();
  });

  it('ends with the reason, and keeps its container and files, when its sockets are lost', async () => {
    const wanted = spec();
    const broken = Promise.withResolvers<string>();
    const egress: Egress = {
      open: async (entrance, signal) => ({ ...(await engine.context.egress.open(entrance, signal)), lost: broken.promise }),
    };
    const sandbox = await backendOf(engine.kind, { ...engine.context, egress }).open(wanted, quiet);
    const before = await containerOf(wanted);
    broken.resolve('a test broke them');
    expect(await sandbox.ended).toMatch(/network was lost: a test broke them/);
    expect(await containerOf(wanted)).toMatchObject({ id: before?.id, running: false });
    await sandbox.close();
    const again = await engine.open(wanted);
    expect(await proxy(again)).toBe('open\n');
    expect((await containerOf(wanted))?.id).toBe(before?.id);
    await again.destroy();
  });

  it('is left as it was, with its processes, when the sockets cannot be opened from outside', async () => {
    const wanted = spec();
    const first = await engine.open(wanted);
    const mark = sleepMark();
    await output(first, `setsid sleep ${mark} >/dev/null 2>&1 &`);
    await untilAsleep(first, mark);
    await first.close();
    const before = await containerOf(wanted);
    const egress: Egress = {
      open: async ({ onStarted }) => {
        onStarted?.();
        throw new Error('no more processes');
      },
    };
    const failing = backendOf(engine.kind, { ...engine.context, egress });
    await expect(failing.open(wanted, quiet)).rejects.toMatchObject({ code: 'sandbox/network-failed', message: 'no more processes' });
    expect(await containerOf(wanted)).toMatchObject({ id: before?.id, running: true });
    const second = await engine.open(wanted);
    expect(await sleepers(second, mark)).toBe(1);
    await second.destroy();
    const fresh = spec();
    await expect(failing.open(fresh, quiet)).rejects.toMatchObject({ code: 'sandbox/network-failed' });
    expect(await containerOf(fresh)).toBeUndefined();
    expect(existsSync(fresh.directory)).toBe(false);
  });

  it('has its network after its container was restarted', async () => {
    const wanted = spec();
    const first = await engine.open(wanted);
    await onEngine((docker) => docker.request('POST', `/containers/hermetic-${wanted.name}/restart`));
    expect(await first.ended).toMatch(/\w/);
    await first.close();
    const second = await engine.open(wanted);
    expect(await proxy(second)).toBe('open\n');
    await second.destroy();
  });
}
