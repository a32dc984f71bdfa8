import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { afterAll, describe, expect, it } from 'vitest';
import { startOpenNetwork } from '../../../src/backends/namespaces/open-network.ts';
import { hostBash } from '../../../src/lib/guest-files.ts';
import { processesWith } from '../../engines.ts';
import { describeNeeding } from '../../needs.ts';
import { makeTestHost, type TestHost } from './network-host.ts';
import {
  describeBubblewrap,
  type Ended,
  eventually,
  groupsOf,
  installation,
  makeDirectories,
  noLimits,
  type Person,
  people,
  type Running,
  spawnProduct,
  start,
  statusOf,
} from './open.ts';

/** Each in a host of its own, so that nobody meets processes of somebody else. */
function onTestHost(title: string, body: (host: () => TestHost) => void): void {
  describeNeeding(['root', 'open-network'], title, () => {
    let made: TestHost | undefined;
    afterAll(() => made?.end());
    it('makes a host for the tests', async () => {
      made = await makeTestHost();
    });
    body(() => made as TestHost);
  });
}

describeBubblewrap('the network of a bubblewrap sandbox', () => {
  describe.each(people)('started by %s', (person) => {
    onTestHost('on a machine with slirp4netns', (host) => {
      it('reaches what the host reaches, except the loopback of the host', async () => {
        const { beyond, own, loopbackPort } = host();
        const { stdout } = await run(
          person,
          host(),
          [
            'cat /etc/resolv.conf; ip -br addr | tr -s " "',
            attempt('beyond', beyond.address, beyond.port, 60),
            attempt('the host where it listens on all addresses', own.address, own.port, 60),
            attempt('the host where it listens on its loopback', own.address, loopbackPort),
            attempt('its own loopback', '127.0.0.1', loopbackPort),
            attempt('the gateway', '10.0.2.2', loopbackPort),
            attempt('the resolver', '10.0.2.3', loopbackPort),
          ].join('\n'),
          'open',
        );
        expect(stdout.trim().split('\n')).toEqual([
          'nameserver 10.0.2.3',
          expect.stringMatching(/^lo UNKNOWN 127\.0\.0\.1\/8/),
          expect.stringMatching(/^tap0 UNKNOWN 10\.0\.2\.100\/24/),
          'beyond: reached',
          'the host where it listens on all addresses: reached',
          'the host where it listens on its loopback: refused',
          'its own loopback: refused',
          'the gateway: refused',
          'the resolver: refused',
        ]);
      });

      it('gives a sandbox only its own loopback when the network is off', async () => {
        const { beyond } = host();
        const script = `wc -c < /etc/resolv.conf; ip -br addr | tr -s " "; ${attempt('beyond', beyond.address, beyond.port)}`;
        const { stdout } = await run(person, host(), script, 'none');
        expect(stdout.trim().split('\n')).toEqual(['0', expect.stringMatching(/^lo UNKNOWN 127\.0\.0\.1\/8/), 'beyond: refused']);
        await expectNoNewcomers(host());
      });

      it('prevents programs inside from changing the network', async () => {
        const script = 'ip link add x type dummy; ip addr add 10.99.77.9/24 dev tap0; perl -e "socket(S, 17, 3, 0) or die"';
        const { stdout, stderr } = await run(person, host(), `{ ${script}; } 2>&1; grep CapEff /proc/self/status`, 'open');
        expect(stderr).toBe('');
        expect(stdout).toMatch(/^(RTNETLINK answers: Operation not permitted\n){2}Died at .*\nCapEff:\s+0+\n$/);
      });

      it('runs slirp4netns without privileges and under the limits of the sandbox', async () => {
        const running = await start(
          person,
          'touch ready; sleep 60',
          { network: 'open', limits: { ...noLimits, pids: 20 } },
          [],
          host().around,
        );
        const [carrier] = host()
          .newcomers()
          .filter(({ name }) => name === 'slirp4netns');
        const pid = carrier?.pid ?? 0;
        const outer = statusOf(running.pid);
        const status = statusOf(pid);
        expect(status).toMatchObject({ Uid: outer.Uid, Gid: outer.Gid, Groups: '', NoNewPrivs: '1', Seccomp: '2' });
        expect(status.Uid).not.toMatch(/^0\b/);
        // CAP_NET_BIND_SERVICE, of a namespace in which it means nothing.
        expect(status.CapEff).toBe('0000000000000400');
        expect(readdirSync(`/proc/${pid}/root`)).toEqual(['etc', 'run']);
        if (person === 'root') expect(groupsOf(running.name).some((group) => membersOf(group).includes(pid))).toBe(true);
        running.kill();
        await running.ended;
        await expectNoNewcomers(host());
      });

      it.each(['the product', 'bubblewrap'])('ends slirp4netns and the sandbox when %s is killed', async (victim) => {
        const running = await start(person, 'touch ready; sleep 60', { network: 'open' }, [], host().around);
        expect(await eventually(() => existsSync(join(running.directory, 'workspace/ready')))).toBe(true);
        expect(host().newcomers()).toContainEqual({ pid: expect.any(Number), name: 'slirp4netns' });
        if (victim === 'the product') running.product.kill('SIGKILL');
        else process.kill(running.pid, 'SIGKILL');
        expect(await eventually(() => host().newcomers().length === 0)).toBe(true);
      });

      it('leaves no process of the network when the product is killed at any moment of a start', async () => {
        const mark = `60.${process.pid}${person.length}`;
        const moments = Array.from({ length: 24 }, (_, index) => index * 4);
        for (let first = 0; first < moments.length; first += 4) {
          await Promise.all(moments.slice(first, first + 4).map((dieAfterMs) => startAndDie(person, host(), ['sleep', mark], dieAfterMs)));
        }
        const left = (): unknown[] => [...host().newcomers(), ...processesWith(mark)];
        await eventually(() => left().length === 0);
        expect(left()).toEqual([]);
      });
    });

    onTestHost('on a machine where slirp4netns fails', (host) => {
      const instead = (file: string): string[] => {
        const cover = `printf '#!/bin/sh\\necho it is a bad day >&2; exit 1\\n' > /dev/net/fake; chmod 0755 /dev/net/fake
          mount --bind ${file} /usr/bin/slirp4netns; exec "$@"`;
        return [...host().around, 'unshare', '--mount', 'sh', '-c', cover, 'sh'];
      };

      it('refuses to open with the error of slirp4netns and leaves no process', async () => {
        const refused = start(person, 'true', { network: 'open' }, [], instead('/dev/net/fake'));
        await expect(refused).rejects.toMatchObject({
          code: 'sandbox/open-failed',
          message: expect.stringMatching(/slirp4netns.*a bad day/),
        });
        expect(await eventually(() => host().newcomers().length === 0)).toBe(true);
      });

      it('refuses a network with the line that installs slirp4netns', async () => {
        const refused = start(person, 'true', { network: 'open' }, [], instead('/dev/null'));
        await expect(refused).rejects.toMatchObject({
          code: 'backend/cannot-honour',
          message: expect.stringContaining('apt-get install slirp4netns'),
        });
        expect(await eventually(() => host().newcomers().length === 0)).toBe(true);
      });
    });
  });

  it('ends the process inside when bubblewrap is killed before it reported its pid', async () => {
    const mark = `300.${process.pid}`;
    const stdio = ['ignore', 'ignore', 'ignore', 'pipe'] as const;
    const bubblewrap = spawn('bash', ['-c', `sleep ${mark} 3>&- & kill -KILL $$`], { detached: true, stdio: [...stdio] });
    const launched = { group: bubblewrap.pid ?? 0, info: bubblewrap.stdio[3] as Duplex, user: undefined };
    const network = startOpenNetwork(await hostBash('sandbox-network'), launched);
    await network.enter({ entrances: [], add: async () => undefined });
    await expect(network.connect()).rejects.toMatchObject({ code: 'sandbox/open-failed' });
    expect(await eventually(() => processesWith(mark).length === 0)).toBe(true);
  });
});

/** Says whether something answers there. */
function attempt(what: string, address: string, port: number, seconds = 5): string {
  const connect = `exec 3<>/dev/tcp/${address}/${port} && read -r word <&3 && echo "$word"`;
  return `printf '%s: ' '${what}'; timeout ${seconds} bash -c '${connect}' 2>/dev/null || echo refused`;
}

/** The product itself is still ending when it has told how its sandbox ended. */
async function expectNoNewcomers(host: TestHost): Promise<void> {
  await eventually(() => host.newcomers().length === 0);
  expect(host.newcomers()).toEqual([]);
}

async function run(person: Person, host: TestHost, script: string, network: 'none' | 'open'): Promise<Ended> {
  const running: Running = await start(person, script, { network }, [], host.around);
  return await running.ended;
}

function membersOf(group: string): number[] {
  return existsSync(group) ? readFileSync(join(group, 'cgroup.procs'), 'utf8').split('\n').map(Number) : [];
}

async function startAndDie(person: Person, host: TestHost, command: string[], dieAfterMs: number): Promise<void> {
  const { directory: _, ...paths } = makeDirectories(person);
  const product = spawnProduct(person, [], host.around);
  const options = { installation, mounts: [], env: {}, limits: { ...noLimits, pids: 20 }, umask: 0o022, command };
  product.send({ name: `moment-${dieAfterMs}`, ...options, ...paths, network: 'open', dieAfterMs });
  expect(await once(product, 'close')).toEqual([null, 'SIGKILL']);
}
