import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { restrictedNetwork } from '../../../src/backends/namespaces/restricted-network.ts';
import { EgressThread } from '../../../src/egress/thread.ts';
import { hostBash } from '../../../src/lib/guest-files.ts';
import { processesWith } from '../../engines.ts';
import { describeNeeding } from '../../needs.ts';
import { isAlive } from '../../processes.ts';
import { makeTestHost, type TestHost } from './network-host.ts';
import {
  descendants,
  describeBubblewrap,
  eventually,
  installation,
  makeDirectories,
  noLimits,
  opener,
  type Person,
  people,
  run,
  spawnProduct,
  start,
} from './open.ts';

const network = 'restricted' as const;

/** Addresses at which this machine, or a service of its network, might be reached. */
const addresses = [
  ...Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address, scopeid }) => (scopeid ? `${address}%lo` : address))),
  ...['0.0.0.0', '10.0.2.2', '169.254.169.254', '192.0.2.1', '::1', '::', '::ffff:127.0.0.1', '2001:db8::1'],
];

/** Listens on every address of this machine and counts what arrives. */
class Bait {
  arrived = 0;
  readonly #tcp: Server = createServer((socket) => {
    this.arrived += 1;
    socket.on('error', () => undefined).end('reached\n');
  });
  readonly #udp = createSocket('udp6').on('message', () => {
    this.arrived += 1;
  });
  readonly #abstract: Server = createServer((socket) => {
    this.arrived += 1;
    socket.end('reached\n');
  });
  readonly abstractName = `hermetic-bait-${process.pid}`;
  port = 0;

  async open(): Promise<void> {
    this.#tcp.listen({ port: 0, host: '::', ipv6Only: false });
    await once(this.#tcp, 'listening');
    this.port = (this.#tcp.address() as AddressInfo).port;
    this.#udp.bind(this.port, '::');
    await once(this.#udp, 'listening');
    this.#abstract.listen({ path: `\0${this.abstractName}` });
    await once(this.#abstract, 'listening');
  }

  close(): void {
    this.#tcp.close();
    this.#udp.close();
    this.#abstract.close();
  }
}

describeBubblewrap('the restricted network of a bubblewrap sandbox', () => {
  for (const person of people)
    describeNeeding(['restricted-network'], `started by ${person}`, () => {
      const bait = new Bait();
      beforeAll(() => bait.open());
      afterAll(() => bait.close());

      it('is its own loopback with the sockets of the gateway, which are there for the first command', async () => {
        const sockets =
          'for kind in tcp udp; do tail -n +2 "/proc/net/$kind" | while read -r _ local _; do echo "$kind $local"; done; done | sort';
        const { stdout, stderr } = await run(
          person,
          `cat /etc/resolv.conf; cat /proc/net/tcp6 /proc/net/udp6 | grep -c :; ip -br link | cut -d' ' -f1; ${sockets}`,
          { network },
        );
        expect(stderr).toBe('');
        expect(stdout.trim().split('\n')).toEqual([
          'nameserver 127.0.0.1',
          '0',
          'lo',
          'tcp 00000000:0016',
          'tcp 00000000:01BB',
          'tcp 0100007F:0C38',
          'udp 0100007F:0035',
        ]);
      });

      it('reaches no address of the host or beyond it over TCP, UDP or ICMP', async () => {
        const tries = addresses.flatMap((address) => [
          `(exec 3<>'/dev/tcp/${address}/${bait.port}' && cat <&3) 2>/dev/null && echo 'tcp ${address}'`,
          `echo bait >'/dev/udp/${address}/${bait.port}'`,
        ]);
        const icmp = ['2, 2, 1', '2, 3, 1', '10, 2, 58', '10, 3, 58', '17, 3, 768'].map(
          (kind) => `perl -e 'socket(S, ${kind}) and print "icmp ${kind}"'`,
        );
        const { stdout } = await run(person, `{ ${[...tries, ...icmp].join('\n')}\n} 2>/dev/null; echo done`, { network });
        expect(stdout).toBe('done\n');
        expect(bait.arrived).toBe(0);
      });

      it('reaches no abstract socket of the host', async () => {
        const connect =
          'use Socket; socket(S, 1, 1, 0) or die; connect(S, pack_sockaddr_un("\\0$ARGV[0]")) and print "reached"; print "done"';
        const { stdout } = await run(person, `perl -e '${connect}' ${bait.abstractName}`, { network });
        expect(stdout).toBe('done');
        expect(bait.arrived).toBe(0);
      });

      it('reaches no socket of another sandbox', async () => {
        const listen = `use Socket; socket(S, 2, 1, 0) or die; bind(S, sockaddr_in(5000, INADDR_ANY)) or die; listen(S, 5) or die;
        socket(A, 1, 1, 0) or die; bind(A, pack_sockaddr_un("\\0sibling")) or die; listen(A, 5) or die; open(F, ">", "ready"); close(F); sleep 600`;
        const sibling = await start(person, `perl -e '${listen}'`, { network });
        expect(await eventually(() => existsSync(join(sibling.directory, 'workspace/ready')))).toBe(true);
        const abstract = 'use Socket; socket(S, 1, 1, 0) or die; connect(S, pack_sockaddr_un("\\0sibling")) and print "reached\\n"';
        const script = `(exec 3<>/dev/tcp/127.0.0.1/5000) 2>/dev/null && echo reached; perl -e '${abstract}'; echo done`;
        expect((await run(person, script, { network })).stdout).toBe('done\n');
        sibling.kill();
        await sibling.ended;
      });

      it('keeps its ports from programs inside, and gives those programs no right to change it', async () => {
        const bind = (port: number): string =>
          `perl -e 'use Socket; socket(S, 2, 1, 0) or die; print "${port} ", (bind(S, sockaddr_in(${port}, INADDR_LOOPBACK)) ? "bound" : $!), "\\n"'`;
        const { stdout } = await run(
          person,
          `${[3128, 22, 443, 8080].map(bind).join('\n')}\nip addr add 10.9.9.9/24 dev lo 2>&1; ip link add x type dummy 2>&1; grep CapEff /proc/self/status`,
          { network },
        );
        expect(stdout.trim().split('\n')).toEqual([
          '3128 Address already in use',
          '22 Permission denied',
          '443 Permission denied',
          '8080 bound',
          'RTNETLINK answers: Operation not permitted',
          'RTNETLINK answers: Operation not permitted',
          expect.stringMatching(/^CapEff:\s+0+$/),
        ]);
      });

      it('needs no process of its own once the sandbox runs, and closes with it', async () => {
        const running = await start(person, 'touch ready; sleep 600', { network, limits: { ...noLimits, pids: 20 } });
        expect(await eventually(() => existsSync(join(running.directory, 'workspace/ready')))).toBe(true);
        // It was killed before the sandbox ran, and is gone when the kernel is done with it.
        expect(await eventually(() => processesWith(opener).length === 0)).toBe(true);
        running.kill();
        expect(await running.ended).toMatchObject({ signal: 'SIGKILL' });
      });

      it.each(['the product', 'bubblewrap'])('ends the sandbox when %s is killed', async (victim) => {
        const running = await start(person, 'touch ready; sleep 600', { network });
        expect(await eventually(() => existsSync(join(running.directory, 'workspace/ready')))).toBe(true);
        const inner = [running.pid, ...descendants(running.pid)];
        if (victim === 'the product') running.product.kill('SIGKILL');
        else process.kill(running.pid, 'SIGKILL');
        expect(await eventually(() => !inner.some(isAlive))).toBe(true);
      });

      it('leaves no process when the product is killed at any moment of a start', async () => {
        const mark = `600.${process.pid}${person.length}`;
        const moments = Array.from({ length: 40 }, (_, index) => index * 10);
        for (let first = 0; first < moments.length; first += 4) {
          await Promise.all(moments.slice(first, first + 4).map((dieAfterMs) => startAndDie(person, ['sleep', mark], dieAfterMs)));
        }
        const left = (): unknown[] => [...processesWith(opener), ...processesWith(mark)];
        await eventually(() => left().length === 0);
        expect(left()).toEqual([]);
      });
    });

  describeNeeding(['restricted-network'], 'a bubblewrap that does not do what it should', () => {
    const egress = new EgressThread(() => ({ allow: [], deny: [], private: [], directPorts: [], notesAllowed: false }));
    afterAll(() => egress.stop());
    const mark = `601.${process.pid}`;

    /** Reports when its network was told to enter, and then waits. */
    async function connectTo(report: string): Promise<void> {
      const script = `sleep ${mark} 3>&- & read -r; ${report}`;
      const bubblewrap = spawn('bash', ['-c', script], { detached: true, stdio: ['pipe', 'ignore', 'ignore', 'pipe'] });
      const launched = { group: bubblewrap.pid ?? 0, info: bubblewrap.stdio[3] as Duplex, user: undefined };
      const restricted = restrictedNetwork(egress, await hostBash('sandbox-network'), launched);
      await restricted.enter({ entrances: [], add: async () => undefined });
      bubblewrap.stdin?.on('error', () => undefined).end('\n');
      try {
        await restricted.connect();
      } finally {
        await restricted.end();
        if (bubblewrap.exitCode === null && bubblewrap.signalCode === null) process.kill(-launched.group, 'SIGKILL');
      }
    }

    it.each([
      ['is killed before it has named the process inside', 'kill -KILL $$', ''],
      ['names a process that is not its own', `echo '"child-pid": ${process.pid}' >&3; exec 3>&-; wait`, 'the sandbox has ended'],
      ['names a process that has the network of the host', 'echo "\\"child-pid\\": $!" >&3; exec 3>&-; wait', 'the sandbox has ended'],
      ['names a process that has ended', 'true & wait $!; echo "\\"child-pid\\": $!" >&3; exec 3>&-; wait', ''],
    ])('opens no socket and leaves no process when it %s', async (_, report, reason) => {
      await expect(connectTo(report)).rejects.toMatchObject({ code: 'sandbox/open-failed', message: expect.stringContaining(reason) });
      expect(await eventually(() => processesWith(mark).length === 0)).toBe(true);
    });
  });

  for (const person of people)
    describeNeeding(['restricted-network', 'root'], `started by ${person} where nsenter does not work`, () => {
      let host: TestHost;
      beforeAll(async () => {
        host = await makeTestHost();
      });
      afterAll(() => host.end());
      const instead = (file: string): string[] => {
        const cover = `printf '#!/bin/sh\\necho it is a bad day >&2; exit 1\\n' > /dev/net/fake; chmod 0755 /dev/net/fake
        mount --bind ${file} /usr/bin/nsenter; exec "$@"`;
        return [...host.around, 'unshare', '--mount', 'sh', '-c', cover, 'sh'];
      };

      it('refuses to open with the error of nsenter and leaves no process', async () => {
        const refused = start(person, 'true', { network }, [], instead('/dev/net/fake'));
        await expect(refused).rejects.toMatchObject({
          code: 'sandbox/open-failed',
          message: expect.stringMatching(/restricted network.*a bad day/),
        });
        expect(await eventually(() => host.newcomers().length === 0)).toBe(true);
      });

      it('refuses a restricted network with the line that installs nsenter', async () => {
        const refused = start(person, 'true', { network }, [], instead('/dev/null'));
        await expect(refused).rejects.toMatchObject({
          code: 'backend/cannot-honour',
          message: expect.stringContaining('apt-get install util-linux'),
        });
        expect(await eventually(() => host.newcomers().length === 0)).toBe(true);
      });
    });
});

async function startAndDie(person: Person, command: string[], dieAfterMs: number): Promise<void> {
  const { directory: _, ...paths } = makeDirectories(person);
  const product = spawnProduct(person);
  const options = { installation, mounts: [], env: {}, limits: { ...noLimits, pids: 20 }, umask: 0o022, command };
  product.send({ name: `moment-${dieAfterMs}`, ...options, ...paths, network, dieAfterMs });
  expect(await once(product, 'close')).toEqual([null, 'SIGKILL']);
}
