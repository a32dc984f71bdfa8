import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bin } from '../bin.ts';
import { describeBackend } from '../engines.ts';
import { calls, type Script, says } from '../fakes/model-server.ts';
import { Program } from '../gateway/program.ts';
import { until } from '../until.ts';
import { hostProgramsIn, inside } from './restricted.ts';
import { tokens } from './tokens.ts';
import { describeWorld } from './world.ts';

const ada = 1001;
const clone =
  'git clone -q "https://x:$GIT_TOKEN@git.test/team/project.git" && cat project/readme && curl -skS https://setup.test/script && echo finished';

const fetching = "import urllib.request; print(urllib.request.urlopen('http://script.test/').read().decode())";

/** Answers with a call of a tool, then with its result as it was told. */
const script: Script = ({ last }) => {
  if (last.role === 'tool') return says(`The result: ${last.text}`);
  if (last.text.includes('clone this private repository')) return calls(['terminal', { command: clone, timeout: 60 }]);
  if (last.text.includes('in the background')) return calls(['terminal', { command: 'curl -skS https://back.test/', background: true }]);
  if (last.text.includes('with a script')) return calls(['execute_code', { language: 'python', code: fetching }]);
  return says('Fine.');
};

for (const kind of ['bubblewrap', 'docker'] as const) {
  await describeBackend(kind, ({ context }) => {
    describeWorld((world) => {
      let started: Program | undefined;
      const program = (): Program => {
        if (!started) throw new Error('the gateway has not started');
        return started;
      };
      beforeAll(async () => {
        const shared = kind === 'docker' ? mkdtempSync(join(world().directory, 'programs-')) : undefined;
        if (shared !== undefined) chmodSync(shared, 0o755);
        const programs = shared !== undefined && {
          docker_image: context.docker.image,
          docker_volumes: [`${shared}:${inside}:ro`, ...hostProgramsIn(shared)],
          docker_env: { PATH: `${inside}/bin:/usr/local/bin:/usr/bin:/bin` },
        };
        started = await Program.start({
          backend: kind,
          script,
          config: { terminal: { network: undefined, timeout: 4, ...programs }, network: { presets: [], deny: ['denied.test'] } },
          environment: { NODE_EXTRA_CA_CERTS: join(world().directory, 'ca.pem') },
          launcher: async (ports) => {
            for (const port of ports) await world().share(port);
            return world().command;
          },
        });
      });
      afterAll(async () => await (kind === 'docker' ? started?.closeWithContainers() : started?.close()));

      const say = (text: string): void => void program().api.world.says({ text, from: { id: ada, is_bot: false, first_name: 'Ada' } });
      const card = async (destination: string) =>
        await program().shows(new RegExp(`May this connect from[\\s\\S]*\\(${destination}\\)`), ada);
      const press = async (destination: string, button: string): Promise<void> =>
        void program().api.world.presses(ada, (await card(destination)).id, button);
      const hermetic = async (...words: string[]): Promise<string> => {
        const environment = { PATH: process.env.PATH ?? '', HOME: program().home, HERMETIC_HOME: program().directory };
        return (await promisify(execFile)(process.execPath, [bin, ...words], { env: environment })).stdout;
      };
      const questionsFor = async (name: string): Promise<number> =>
        (await world().arrivals()).filter((arrival) => arrival.kind === 'question' && arrival.name === name).length;

      it('asks about a host in the chat, looks it up only after the yes, and goes on with the same command', async () => {
        say('/run curl -skS https://once.test/hello; echo "curl ended with $?"');
        const { text } = await card('once.test:443');
        expect(text).toContain('once.test:443 is wanted by "curl", as the sandbox says.');
        expect(text).toContain('curl -skS https://once.test/hello');
        expect(await questionsFor('once.test')).toBe(0);
        await press('once.test:443', 'Once');
        await program().shows('curl ended with 0', ada);
        await program().shows('Allowed once by telegram:1001.', ada);
        await program().shows('allowed once.test:443 for this command', ada);
        expect(await questionsFor('once.test')).toBeGreaterThan(0);
      });

      it('says in the result who denied a host, and does not ask about a host of network.deny', async () => {
        say('/run curl -skS https://no.test/; curl -skS https://denied.test/; echo "refused both"');
        await press('no.test:443', 'Deny');
        const { text } = await program().shows(/refused both\n\[Network/, ada);
        expect(text).toContain('no.test:443 (denied by telegram:1001)');
        expect(text).toContain('denied.test:443 (in network.deny)');
        expect(program().texts(ada).join('\n')).not.toContain('(denied.test:443)');
        for (const name of ['no.test', 'denied.test']) expect(await questionsFor(name)).toBe(0);
      });

      it('lets the clock of a command stand still while a person decides', async () => {
        const asked = Date.now();
        say('/run curl -skS https://slow.test/; echo "slow ended with $?"');
        await card('slow.test:443');
        say('/status');
        await program().shows(/terminal: .*slow\.test.*, waiting for an answer about a connection for \d+ s/, ada);
        // Longer than terminal.timeout.
        await until('the time of the command would be over', () => Date.now() - asked > 6_000);
        await press('slow.test:443', 'This session');
        await program().shows('slow ended with 0', ada);
        say('/run curl -skS https://slow.test/; echo "again ended with $?"');
        await program().shows('again ended with 0', ada);
        expect(
          program()
            .texts(ada)
            .filter((text) => text.includes('(slow.test:443)')),
        ).toHaveLength(1);
        expect(await hermetic('network', 'list')).toContain('slow.test');
        await hermetic('network', 'forget', 'slow.test');
        say('/run curl -skS https://slow.test/; echo "third ended with $?"');
        await until(
          'it is asked about again',
          () =>
            program()
              .texts(ada)
              .filter((text) => text.includes('(slow.test:443)')).length === 2,
        );
        say('/stop');
        await until('the question is withdrawn', () =>
          program()
            .texts(ada)
            .some((text) => /\(slow\.test:443\)[\s\S]*Withdrawn\./.test(text)),
        );
      });

      it('lets a newcomer clone a private repository with a bound secret and one question, and the value stays outside', async () => {
        const setting = execFile(process.execPath, [bin, 'secret', 'set', 'GIT_TOKEN', '--host', 'git.test'], {
          env: { PATH: process.env.PATH ?? '', HOME: program().home, HERMETIC_HOME: program().directory },
        });
        setting.stdin?.end(`${tokens.GIT_TOKEN}\n`);
        await until('the secret is set', () => setting.exitCode === 0);
        say('Please clone this private repository: https://git.test/team/project.git');
        await press('setup.test:443', 'Once');
        const { text } = await program().shows('The result:', ada);
        expect(text).toContain('tiny-git works');
        expect(text).toContain('finished');
        expect(program().texts(ada).join('\n')).not.toContain('(git.test:443)');
        for (const shown of [...program().texts(ada), program().output, JSON.stringify(program().model.requests)])
          expect(shown).not.toContain(tokens.GIT_TOKEN);
        expect(readFileSync(join(program().directory, 'state.db'), 'latin1')).not.toContain(tokens.GIT_TOKEN);
        const log = await hermetic('network', 'log', '--json');
        expect(log).toContain('setup.test');
        expect(log).not.toContain(tokens.GIT_TOKEN);
      });

      it('asks for a script and for a process in the background as well, and keeps a record of what they reached', async () => {
        say('Please fetch it with a script.');
        await press('script.test:80', 'Once');
        await program().shows(/The result:[\s\S]*hello from script\.test[\s\S]*allowed script\.test:80 for this command/, ada);
        say('Please fetch it in the background.');
        await press('back.test:443', 'Once');
        await until('its record is there', async () =>
          /"allowed"[^}]*back\.test|back\.test[^}]*"allowed"/.test((await hermetic('network', 'log', '--json')).replaceAll('\n', ' ')),
        );
      });

      it('withdraws the question of a gateway that was killed, repeats nothing, and takes no late press for an answer', async () => {
        say('/run curl -skS https://killed.test/; echo "killed ended with $?"');
        const { id, markup } = await card('killed.test:443');
        const button = markup?.inline_keyboard.flat().find(({ text }) => text === 'Always');
        // Otherwise the card may be sent again, marked as a possible repeat.
        await program().told();
        await program().restart();
        await program().shows('I was interrupted while running /run and did not retry it.', ada);
        await program().shows(/\(killed\.test:443\)[\s\S]*Withdrawn\./, ada);
        program().api.world.pressesData(ada, id, button && 'callback_data' in button ? button.callback_data : '');
        say('/run curl -skS https://killed.test/; echo "next ended with $?"');
        const cards = () =>
          program()
            .sent(ada)
            .filter(({ text }) => text.includes('(killed.test:443)'));
        await until('it is asked about again', () => cards().length === 2);
        program().api.world.presses(ada, cards()[1]?.id ?? 0, 'Once');
        await program().shows(/next ended with 0\n/, ada);
        expect(program().texts(ada).join('\n')).not.toMatch(/^killed ended with/m);
      });
    });
  });
}
