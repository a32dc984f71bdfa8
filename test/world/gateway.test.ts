import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { describeBackend } from '../engines.ts';
import { Program } from '../gateway/program.ts';
import { until } from '../until.ts';
import { describeWorld } from './world.ts';

const allowed = ['kept.test:5432', 'removed.test:5432'];

/** Holds idle connections to the proxy and one to a host. Says when that one has ended. */
const hold = (host: string, mark: string, idle: number): string =>
  `python3 -c 'import socket; crowd = [socket.create_connection(("127.0.0.1", 3128)) for _ in range(${idle})]; ` +
  `s = socket.create_connection(("${host}", 5432)); s.sendall(b"${mark}"); s.recv(99); s.settimeout(150); s.recv(1)'; echo 'cut ${mark}'`;

for (const kind of ['bubblewrap', 'docker'] as const) {
  await describeBackend(kind, ({ context }) => {
    describeWorld((world) => {
      let program: Program | undefined;
      const running = (): Program => {
        if (!program) throw new Error('the gateway has not started');
        return program;
      };
      beforeAll(async () => {
        program = await Program.start({
          backend: kind,
          config: {
            terminal: { network: undefined, ...(kind === 'docker' ? { docker_image: context.docker.image } : {}) },
            network: { allow: allowed },
          },
          launcher: async (ports) => {
            for (const port of ports) await world().share(port);
            return world().command;
          },
        });
      });
      afterAll(async () => await (kind === 'docker' ? program?.closeWithContainers() : program?.close()));

      const say = (text: string, id: number) => running().api.world.says({ text, from: { id, is_bot: false, first_name: 'Somebody' } });
      const arrived = async (text: string): Promise<void> => {
        await until(`${text} arrives in the world`, async () =>
          (await world().arrivals()).some((arrival) => arrival.kind === 'bytes' && arrival.text === text),
        );
      };

      it('cuts an open connection when its rule is removed, keeps the others, and lets no sandbox use up the connections of another', async () => {
        say(`/run ${hold('kept.test', 'first', 250)}`, 1001);
        await arrived('first');
        say(`/run ${hold('removed.test', 'second', 1)}`, 1002);
        await arrived('second');
        const file = join(running().directory, 'config.yaml');
        const sections = parse(readFileSync(file, 'utf8')) as Record<string, Record<string, unknown>>;
        sections.network = { allow: ['kept.test:5432'] };
        writeFileSync(file, stringify(sections));
        say('/whoami', 1003);
        await running().shows('cut second', 1002);
        expect(running().texts(1001).join('\n')).not.toContain('cut first');
      });

      it('gives a sandbox its network again after the gateway was killed in the middle of a connection', async () => {
        say(`/run ${hold('kept.test', 'third', 1)}`, 1002);
        await arrived('third');
        await running().restart();
        say(`/run ${hold('kept.test', 'fourth', 1)}`, 1001);
        await arrived('fourth');
      });
    });
  });
}
