import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ContainerState } from '../../src/backends/engine/engine.ts';
import { inside, Namespace } from '../egress/namespace.ts';
import { describeBackend, withDocker } from '../engines.ts';
import type { BotMessage } from '../fakes/bot-api.ts';
import { Program } from '../gateway/program.ts';
import { until } from '../until.ts';
import type { Arrival } from './records.ts';
import { describeWorld } from './world.ts';

/** Of each backend. */
const kills = Number(process.env.HERMETIC_KILLS ?? 6);
/**
 * When the gateway is killed: a sandbox opens, its connections open, they carry data, one of them waits for an answer, the answer is given, or the
 * gateway ends by itself.
 */
const moments = ['opening', 'connecting', 'carrying', 'asking', 'answering', 'ending'] as const;
const run = promisify(execFile);

/** Where the host leads that is denied. Every address of the world answers. */
const otherAddress = '203.0.113.99';
/** Where the host leads that no rule names, so that people are asked about it. */
const waitsAddress = '203.0.113.98';

for (const kind of ['bubblewrap', 'docker'] as const) {
  await describeBackend(kind, ({ context }) => {
    describeWorld((world) => {
      let program: Program | undefined;
      let observer: Namespace | undefined;
      const running = (): Program => program ?? expect.fail('the gateway has not started');
      const shared = (): string => join(world().directory, 'shared');

      beforeAll(async () => {
        await world().answerName('other.test', { addresses: [otherAddress] });
        await world().answerName('waits.test', { addresses: [waitsAddress] });
        mkdirSync(shared(), { mode: 0o755 });
        copyFileSync(join(import.meta.dirname, 'connections.py'), join(shared(), 'connections.py'));
        observer = await Namespace.make();
        program = await Program.start({
          backend: kind,
          config: {
            terminal: {
              network: undefined,
              docker_volumes: [`${shared()}:/opt/shared:ro`],
              ...(kind === 'docker' ? { docker_image: context.docker.image } : {}),
            },
            network: { allow: ['kept.test', 'kept.test:5432'], deny: ['other.test'] },
          },
          launcher: async (ports) => {
            for (const port of ports) await world().share(port);
            return world().command;
          },
        });
      });
      afterAll(async () => {
        await observer?.remove();
        await (kind === 'docker' ? program?.closeWithContainers() : program?.close());
      });

      const arrived: Arrival[] = [];
      const arrives = async (text: string): Promise<void> => {
        await until(`${text} arrives in the world`, async () => {
          arrived.push(...(await world().arrivals()));
          return arrived.some((arrival) => arrival.kind === 'bytes' && arrival.text === text);
        });
      };
      const say = (action: 'check' | 'hold', round: string): void => {
        running().api.world.says({ text: `/run python3 /opt/shared/connections.py ${action} ${round}` });
      };
      const check = async (round: string): Promise<void> => {
        say('check', round);
        const { text } = await running().shows(`${round} checked:`);
        expect(text).toContain(`${round} checked: 200 echo 403 cut`);
      };
      /** The question of a round, as it is now. */
      const card = (round: string): BotMessage | undefined =>
        running()
          .sent()
          .find(({ text }) => text.includes('(waits.test:5432)') && new RegExp(`hold ${round}$`, 'm').test(text));
      const asked = async (round: string): Promise<BotMessage> => await until(`waits.test is asked about in ${round}`, () => card(round));
      /** Connections to the host that people are asked about. */
      const wanted = (): number => arrived.filter((one) => one.kind === 'connection' && one.address === waitsAddress).length;
      /** The running container of the session. */
      const container = async (): Promise<ContainerState | undefined> =>
        await withDocker(context, async (docker) => {
          const all = await Promise.all((await docker.list({})).map(({ id }) => docker.inspect(id)));
          return all.find((one) => one?.running && readProcess(one.pid, 'mountinfo').includes(basename(running().home)));
        });
      /** In the namespace of a process. */
      const clientAt = async (pid: number, ...words: string[]): Promise<string> =>
        (await run('nsenter', [`--net=/proc/${pid}/ns/net`, '--', process.execPath, inside, ...words])).stdout.trim();

      it(`a gateway that is killed with open connections leaves no process, socket, namespace or permission, and its sandboxes no other way out (${kills} kills)`, {
        timeout: 60_000 + kills * 30_000,
      }, async () => {
        const home = basename(running().home);
        // Its launcher puts this file in the place of one of the machine's, for it and its helpers alone.
        const gateway = join(basename(world().directory), 'resolv.conf');
        let first: string | undefined;
        let answered = 0;
        for (let kill = 0; kill < kills; kill++) {
          const moment = moments[kill % moments.length];
          const round = `round-${kill}`;
          writeFileSync(join(shared(), 'round'), round);
          if (moment === 'opening') {
            say('check', round);
            await sleep(randomInt(0, 900));
          } else {
            await check(round);
            first ??= kind === 'docker' ? (await container())?.id : undefined;
            say('hold', round);
            if (moment !== 'connecting') await arrives(round);
            if (moment === 'asking' || moment === 'answering') await asked(round);
            await sleep(randomInt(0, 500));
            expect(processesThatSee(gateway)).toContain(running().pid);
          }
          const link = `k${kill}`;
          if (kind === 'bubblewrap') await tieToNamespace(link, home);
          if (moment === 'carrying') {
            expect(await connectionsOfGateway()).not.toEqual([]);
            if (kind === 'bubblewrap') expect(await observer?.run('ip', '-br', 'link')).toContain(`${link}@`);
            else expect(listening((await container())?.pid ?? 0)).not.toEqual([]);
          }
          if (moment === 'ending') {
            process.kill(running().pid, 'SIGTERM');
            await sleep(randomInt(0, 300));
          }
          if (moment === 'answering') {
            running().api.world.presses(1001, (await asked(round)).id, 'Once');
            await sleep(randomInt(0, 200));
          }
          await running().kill();

          await until('no process of the gateway is left', () => processesThatSee(gateway).length === 0);
          await until('no connection of the gateway to the world is open', async () => (await connectionsOfGateway()).length === 0);
          if (kind === 'bubblewrap') {
            await until('no process of its sandboxes is left', () => processesThatSee(home).length === 0);
            await until(
              'no namespace of its sandboxes is left',
              async () => !(await observer?.run('ip', '-br', 'link'))?.includes(`${link}@`),
            );
          } else {
            const left = await container();
            if (moment !== 'opening') expect(left?.id).toBe(first);
            if (left) {
              expect(listening(left.pid)).toEqual([]);
              expect(await clientAt(left.pid, 'tcp', '127.0.0.1', '3128')).toBe('ECONNREFUSED');
              expect(await clientAt(left.pid, 'tcp', '127.64.0.1', '5432')).toBe('ECONNREFUSED');
              expect(await clientAt(left.pid, 'udp', '127.0.0.1', '53', 'query')).toBe('ECONNREFUSED');
            }
          }
          arrived.push(...(await world().arrivals()));
          // A yes for one command of an earlier gateway covers none of this one, nor does one to a question that it did not ask.
          if (moment !== 'answering') expect(wanted(), round).toBe(answered);
          answered = wanted();
          const button = card(round)
            ?.markup?.inline_keyboard.flat()
            .find(({ text }) => text === 'Always');
          await running().start();
          if (moment === 'asking' && button && 'callback_data' in button) {
            await until('the question is withdrawn', () => card(round)?.text.includes('Withdrawn.'));
            running().api.world.pressesData(1001, card(round)?.id ?? 0, button.callback_data);
          }
        }
        writeFileSync(join(shared(), 'round'), 'over');
        await check('over');
        if (kind === 'docker') expect((await container())?.id).toBe(first);
        say('hold', 'over');
        await asked('over');
        arrived.push(...(await world().arrivals()));
        expect(wanted()).toBe(answered);
        expect(arrived.filter((arrival) => JSON.stringify(arrival).includes('other.test'))).toEqual([]);
        expect(arrived.filter((arrival) => arrival.kind === 'connection' && arrival.address === otherAddress)).toEqual([]);
        expect(await world().baitArrivals()).toEqual([]);
      });

      /** Makes a link of the observer whose other end is in the namespace of a sandbox, so that it disappears with that. */
      async function tieToNamespace(link: string, home: string): Promise<void> {
        const gateway = namespaceOf(running().pid);
        const pid = processesThatSee(home).find((one) => ![gateway, undefined].includes(namespaceOf(one)));
        const peer = ['peer', 'name', 'far', 'netns', String(pid)];
        // The process may have ended meanwhile.
        if (pid !== undefined) await observer?.run('ip', 'link', 'add', link, 'type', 'veth', ...peer).catch(() => undefined);
      }

      async function connectionsOfGateway(): Promise<string[]> {
        const [file = '', ...words] = [...world().command, 'cat', '/proc/net/tcp', '/proc/net/tcp6'];
        const { stdout } = await run(file, words);
        return rows(stdout)
          .filter(([, , remote = '', state]) => state === '01' && !/0100007F:|0{24}01000000:/.test(remote))
          .map(String);
      }
    });
  });
}

/** Processes, in any sandbox, that have a directory or file of the test in their file system. No other program has it mounted. */
function processesThatSee(name: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && readProcess(pid, 'mountinfo').includes(name));
}

/** Sockets of TCP that listen and of UDP that have no peer, in the namespace of a process. */
function listening(pid: number): string[] {
  const tcp = rows(readProcess(pid, 'net/tcp') + readProcess(pid, 'net/tcp6')).filter(([, , , state]) => state === '0A');
  const udp = rows(readProcess(pid, 'net/udp') + readProcess(pid, 'net/udp6')).filter(([, , , state]) => state === '07');
  return [...tcp, ...udp].map(String);
}

/** The rows of a table of sockets in /proc: number, local address, remote address, state. */
function rows(table: string): string[][] {
  return [...table.matchAll(/^\s*(\d+): (\S+) (\S+) (\S+)/gm)].map((row) => row.slice(1));
}

/** Empty for a process that has ended. */
function readProcess(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}

function namespaceOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return undefined;
  }
}
