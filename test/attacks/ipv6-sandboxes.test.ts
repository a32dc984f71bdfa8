import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { expect } from 'vitest';
import { command } from '../backends/attacks/rig.ts';
import { describeBackend } from '../engines.ts';
import { itNeeding } from '../needs.ts';

/** IPv6 addresses of this machine, and IPv4 ones that only it has, written as IPv6. Those of one link are tried on every link there is inside. */
const own = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .filter(({ family }) => family === 'IPv6')
  .map(({ address }) => address);
const addresses = [...new Set(['::1', '::ffff:127.0.0.1', '::ffff:10.0.2.2', 'fe80::1', 'fe80::2', 'fd00::2', 'fec0::2', ...own])];

for (const kind of ['bubblewrap', 'docker']) {
  await describeBackend(kind, (engine) => {
    itNeeding(
      kind === 'bubblewrap' ? ['open-network'] : [],
      'reaches no service of the host over IPv6 from a sandbox with a network',
      async () => {
        let reached = 0;
        const server = createServer((socket) => {
          reached += 1;
          socket.on('error', () => undefined).end('reached\n');
        });
        server.listen({ port: 0, host: '::', ipv6Only: false });
        await once(server, 'listening');
        const { port } = server.address() as AddressInfo;
        const sandbox = await engine.open(engine.spec({ network: 'open' }));
        try {
          const { stdout } = await command(
            sandbox,
            `links=(/sys/class/net/*); tried=0
           for address in "$@"; do for zone in '' "\${links[@]##*/}"; do
             timeout 2 bash -c 'exec 3<>"/dev/tcp/$0/$1" && cat <&3' "$address\${zone:+%$zone}" ${port} 2>/dev/null & tried=$((tried + 1))
           done; done; wait; echo "$tried tried"`,
            { args: addresses },
          );
          expect(stdout).toMatch(/^\d+ tried\n$/);
          expect(Number.parseInt(stdout, 10)).toBeGreaterThan(addresses.length);
          expect(reached).toBe(0);
        } finally {
          await sandbox.destroy();
          server.close();
        }
      },
    );
  });
}
