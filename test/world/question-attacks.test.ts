import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bin } from '../bin.ts';
import { describeBackend } from '../engines.ts';
import { ada, type BotMessage, bob } from '../fakes/bot-api.ts';
import { Program } from '../gateway/program.ts';
import { until } from '../until.ts';
import { describeWorld } from './world.ts';

const stranger = { id: 6666, is_bot: false, first_name: 'Ada', last_name: 'Lovelace', username: 'ada_' };

/** Asks the proxy, in its own words, for a connection to each target. Tells an allowed host when `enough` were answered and how, and waits for the others. */
const wantAll = (targets: string, enough: number): string => `python3 - <<'END'
import selectors, socket
waiting = selectors.DefaultSelector()
for target in ${targets}:
  connection = socket.create_connection(('127.0.0.1', 3128))
  connection.sendall(b'CONNECT %s HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n' % (target, target))
  waiting.register(connection, selectors.EVENT_READ)
answers = []
while len(answers) < ${enough}:
  for key, _ in waiting.select():
    answers.append(key.fileobj.recv(4096).split(b' ')[1].decode())
    waiting.unregister(key.fileobj)
socket.create_connection(('listed.test', 5432)).sendall(' '.join([str(len(answers)), *sorted(set(answers))]).encode())
while waiting.get_map() and waiting.select(): break
END`;

/** Prints what comes back from a host that echoes, and that it has ended in words that its own text does not have. */
const echo = (host: string, text: string): string =>
  `python3 -c 'import socket; s = socket.create_connection(("127.0.0.1", 3128)); s.sendall(b"CONNECT ${host}:5432 HTTP/1.1\\r\\nHost: ${host}:5432\\r\\n\\r\\n"); ` +
  `print("status", s.recv(4096).split()[1].decode(), flush=True); s.sendall(b"${text}"); print("echo", s.recv(99).decode(), flush=True)'; printf '%s ${text}\\n' ended`;

for (const kind of ['bubblewrap', 'docker'] as const) {
  await describeBackend(kind, ({ context }) => {
    describeWorld((world) => {
      let started: Program | undefined;
      const program = (): Program => started ?? expect.fail('the gateway has not started');
      beforeAll(async () => {
        started = await Program.start({
          backend: kind,
          config: {
            terminal: { network: undefined, ...(kind === 'docker' ? { docker_image: context.docker.image } : {}) },
            network: { presets: [], allow: ['listed.test:5432'] },
          },
          launcher: async (ports) => {
            for (const port of ports) await world().share(port);
            return world().command;
          },
        });
      });
      afterAll(async () => await (kind === 'docker' ? started?.closeWithContainers() : started?.close()));

      const say = (text: string, from = ada): void => void program().api.world.says({ text, from });
      const sent = (): BotMessage[] => program().api.world.sent;
      const cards = (destination: string): BotMessage[] =>
        sent().filter(({ text }) => text.startsWith('May this connect from') && text.includes(`(${destination})`));
      /** The card about a destination, of which there were some before. */
      const card = async (destination: string, before = 0): Promise<BotMessage> =>
        await until(`${destination} is asked about`, () => cards(destination)[before]).catch((error: Error) =>
          expect.fail(
            `${error.message}, shown: ${sent()
              .map(({ text }) => text)
              .join('\n---\n')}`,
          ),
        );
      const hermetic = async (...words: string[]): Promise<string> => {
        const environment = { PATH: process.env.PATH ?? '', HOME: program().home, HERMETIC_HOME: program().directory };
        return (await promisify(execFile)(process.execPath, [bin, ...words], { env: environment })).stdout;
      };
      /** Presses a button, and waits until the press was taken. */
      const press = async ({ id, chat }: BotMessage, data: string, from = ada): Promise<void> => {
        const pressed = program().api.world.pressesData(chat, id, data, from);
        await until('the press is answered', () => !program().api.world.openPresses.has(pressed));
      };
      const dataOf = ({ markup }: BotMessage, label: string): string => {
        const button = markup?.inline_keyboard.flat().find(({ text }) => text === label);
        return button && 'callback_data' in button ? button.callback_data : expect.fail(`no button ${label}`);
      };
      const arrives = async (text: string): Promise<void> => {
        await until(`${text} arrives in the world`, async () => await named(`"text":"${text}"`));
      };
      /** Something that arrived since it was asked for last has this text in it. */
      const named = async (name: string): Promise<boolean> => JSON.stringify(await world().arrivals()).includes(name);

      it('a program that wants 200 hosts at once becomes at most three cards of eight hosts, and another person is asked and served meanwhile', async () => {
        say(`/run ${wantAll(`[b'%d.crowd.test:5432' % n for n in range(200)]`, 176)}`);
        await arrives('176 403');
        const crowd = await until('some of them are asked about', () => {
          const asked = sent().filter(({ text }) => text.includes('.crowd.test:5432)'));
          return asked.length > 0 ? asked : undefined;
        });
        // Those that a busy machine wants later than the others of a card are refused.
        expect(crowd.length).toBeLessThanOrEqual(3);
        for (const { text } of crowd) expect(text.match(/^ {2}! .*\(\d+\.crowd\.test:5432\)/gm)?.length).toBeLessThanOrEqual(8);
        say(`/run ${echo('beside.test', 'beside')}`, bob);
        const other = await card('beside.test:5432');
        expect(other.chat).toBe(bob.id);
        await press(other, dataOf(other, 'Once'), bob);
        await program().shows('echo beside', bob.id);
        say('/stop');
        await until('all questions are withdrawn', () =>
          sent()
            .filter(({ text }) => text.includes('.crowd.test:5432)'))
            .every(({ text }) => text.includes('Withdrawn.')),
        );
        expect(await named('crowd.test')).toBe(false);
      });

      it('a look-alike is asked about in ASCII, and a host with bidirectional or other controls is not asked about', async () => {
        const targets = String.raw`[b'xn--pi-6kc.test:5432', 'аpi.test:5432'.encode(), 'evil\u202etset.ipa:5432'.encode(), b'evil.test\x1b[2K:5432', b'evil.test\r:5432', b'(AAAAAA).test:5432']`;
        const before = sent().length;
        say(`/run ${wantAll(targets, 5)}`);
        const { text } = await card('xn--pi-6kc.test:5432');
        expect(text).toContain('xn--pi-6kc.test:5432 is wanted by');
        expect(text.split('\n').filter((line) => line.startsWith('  ! '))).toHaveLength(1);
        await arrives('5 400');
        expect(
          sent()
            .slice(before)
            .filter((one) => one.text.startsWith('May this')),
        ).toHaveLength(1);
        const asked = await card('xn--pi-6kc.test:5432');
        await press(asked, dataOf(asked, 'Deny'));
        await until('it is denied', () => cards('xn--pi-6kc.test:5432')[0]?.text.includes('Denied by'));
      });

      it('the text of a command cannot look like a card or like another destination', async () => {
        const imitation =
          'May this connect from bubblewrap, in session telegram Ada? (AAAAAA)\n  ! harmless (listed.test:443): nothing.\nAllowed once.';
        say(`/run ${echo('real.test', 'real')} # '\n: '${imitation}\u202e'`);
        const asked = await card('real.test:5432');
        const lines = asked.text.split('\n');
        expect(lines.filter((line) => line.startsWith('May this'))).toHaveLength(1);
        expect(lines.filter((line) => line.startsWith('  !'))).toHaveLength(1);
        expect(lines.filter((line) => line.startsWith('Allowed'))).toHaveLength(0);
        expect(asked.text).not.toContain('\u202e');
        await press(asked, dataOf(asked, 'Deny'));
        await program().shows('ended real');
        expect(await named('real.test')).toBe(false);
      });

      it('an answer counts once, from a person who may give it, and not when its command is over', async () => {
        say(`/run ${echo('answers.test', 'first')}`);
        const first = await card('answers.test:5432');
        const [always, deny, once] = ['Always', 'Deny', 'Once'].map((label) => dataOf(first, label));
        // A stranger gets no answer.
        program().api.world.pressesData(first.chat, first.id, always ?? '', stranger);
        await press(first, always ?? '', bob);
        expect(cards('answers.test:5432')[0]?.text).not.toContain('llowed');
        expect(await named('answers.test')).toBe(false);
        await press(first, deny ?? '');
        await program().shows('ended first');
        expect(cards('answers.test:5432')[0]?.text).toContain('Denied by telegram:1001.');
        for (const data of [always, once]) await press(first, data ?? '');
        say(`/run ${echo('answers.test', 'second')}`);
        const second = await card('answers.test:5432', 1);
        expect(await named('answers.test')).toBe(false);
        expect(await hermetic('network', 'list')).not.toContain('answers.test');
        const late = dataOf(second, 'Always');
        say('/stop');
        await until('the question is withdrawn', () => cards('answers.test:5432')[1]?.text.includes('Withdrawn.'));
        await press(second, late);
        say(`/run ${echo('answers.test', 'third')}`);
        await press(await card('answers.test:5432', 2), dataOf(await card('answers.test:5432', 2), 'Deny'));
        await program().shows('ended third');
        expect(await named('answers.test')).toBe(false);
        expect(await hermetic('audit', 'export')).toContain('answers.test');
      });

      it.each(['Once', 'This session', 'Always'])('a yes of one person (%s) is not one of another', async (label) => {
        const host = `${label.toLowerCase().replace(' ', '-')}.test`;
        say(`/run ${echo(host, label)}`);
        const mine = await card(`${host}:5432`);
        await press(mine, dataOf(mine, label));
        await program().shows(`echo ${label}`);
        await world().arrivals();
        say(`/run ${echo(host, `${label} of Bob`)}`, bob);
        const theirs = await card(`${host}:5432`, 1);
        expect(await named(host)).toBe(false);
        await press(theirs, dataOf(theirs, 'Deny'), bob);
        await program().shows(`ended ${label} of Bob`, bob.id);
        expect(await named(host)).toBe(false);
        say(`/run ${echo(host, `${label} again`)}`);
        if (label === 'Once') {
          const again = await card(`${host}:5432`, 2);
          expect(await named(host)).toBe(false);
          await press(again, dataOf(again, 'Deny'));
        } else await program().shows(`echo ${label} again`);
        await program().shows(`ended ${label} again`);
      });

      it('a grant that is forgotten while a tunnel is open cuts it', async () => {
        say(
          `/run ${echo('tunnel.test', 'open').replace('s.recv(99).decode()', 's.recv(99).decode(), flush=True); print("then", repr(s.recv(99))')}`,
        );
        const asked = await card('tunnel.test:5432');
        await press(asked, dataOf(asked, 'This session'));
        await arrives('open');
        await hermetic('network', 'forget', 'tunnel.test');
        await program().shows('ended open');
        expect(program().texts().join('\n')).toContain('echo open');
      });
    });
  });
}
