import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** A machine of our own making: namespaces in which the product runs, and one beyond with something to reach. */
export interface TestHost {
  /** Words before a command that runs on this host. */
  around: readonly string[];
  /** A listener beyond. */
  beyond: { address: string; port: number };
  /** A listener on the host's loopback. */
  loopbackPort: number;
  /** The host's own address beyond its loopback, where a listener waits that is bound to all addresses. */
  own: { address: string; port: number };
  /** Processes on this host that were not there when it was made. */
  newcomers(): { pid: number; name: string }[];
  end(): Promise<void>;
}

const serve = `
  const { createServer } = require('node:net');
  const listen = (address) => new Promise((resolve) => {
    const server = createServer((socket) => socket.on('error', () => undefined).end('reached\\n'));
    server.listen(0, address, () => resolve(server.address().port));
  });
  (async () => console.log(JSON.stringify({ all: await listen('0.0.0.0'), loopback: await listen('127.0.0.1') })))();
  process.stdin.resume().once('end', () => process.exit(0));
`;
/** The device as distributions have it, open to everybody, and a resolver on the loopback as many machines have it. */
const furnish = `
  set -eu
  ip link set lo up
  mount -t tmpfs -o mode=0755 tmpfs /dev/net
  mknod -m 0666 /dev/net/tun c 10 200
  echo 'nameserver 127.0.0.1' > /dev/net/resolv.conf
  mount --bind /dev/net/resolv.conf "$(realpath /etc/resolv.conf)"
  exec "$@"
`;

/** Throws where such namespaces cannot be made. */
export async function makeTestHost(): Promise<TestHost> {
  const beyond = await startServer(['unshare', '--net', '--', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh']);
  const host = await startServer(['unshare', '--net', '--mount', '--', 'sh', '-c', furnish, 'sh']);
  const [here, there] = [String(host.child.pid), String(beyond.child.pid)];
  const ip = (where: string, words: string): void => {
    execFileSync('nsenter', ['-t', where, '--net', '--', 'ip', ...words.split(' ')], { stdio: 'pipe' });
  };
  ip(here, `link add inner type veth peer name outer netns ${there}`);
  ip(here, 'addr add 10.99.77.1/30 dev inner');
  ip(here, 'link set inner up');
  ip(there, 'addr add 10.99.77.2/30 dev outer');
  ip(there, 'link set outer up');
  return {
    around: ['nsenter', '-t', here, '--net', '--mount', '--'],
    beyond: { address: '10.99.77.2', port: beyond.ports.all },
    loopbackPort: host.ports.loopback,
    own: { address: '10.99.77.1', port: host.ports.all },
    newcomers: () => processesIn(here).filter(({ pid }) => pid !== host.child.pid),
    end: async () => {
      for (const { child } of [host, beyond]) {
        child.stdin?.end();
        if (child.exitCode === null) await once(child, 'exit');
      }
    },
  };
}

async function startServer(wrapper: readonly string[]): Promise<{ child: ChildProcess; ports: { all: number; loopback: number } }> {
  const [file = '', ...rest] = [...wrapper, process.execPath, '-e', serve];
  const child = spawn(file, rest, { stdio: ['pipe', 'pipe', 'pipe'] });
  for await (const line of createInterface(child.stdout)) return { child, ports: JSON.parse(line) };
  throw new Error(String(child.stderr.read() ?? 'no namespaces can be made here').trim());
}

function processesIn(host: string): { pid: number; name: string }[] {
  const network = readlinkSync(`/proc/${host}/ns/net`);
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0)
    .flatMap((pid) => {
      try {
        if (readlinkSync(`/proc/${pid}/ns/net`) !== network) return [];
        return [{ pid, name: readFileSync(`/proc/${pid}/comm`, 'utf8').trim() }];
      } catch {
        return [];
      }
    });
}
