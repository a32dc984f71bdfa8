import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeBackend } from '../engines.ts';
import { describeNeeding } from '../needs.ts';
import { atTerminal } from './at-terminal.ts';
import { Hermetic } from './hermetic.ts';

const choices = 'd deny (or: d and why)';
const reach = (host: string) =>
  String.raw`(exec 3<>/dev/tcp/127.0.0.1/3128; printf 'GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n' >&3; cat <&3)`;

await describeBackend('bubblewrap', () => {
  describeNeeding(['restricted-network'], 'a question about a host at the terminal', () => {
    let hermetic: Hermetic;

    beforeAll(() => {
      hermetic = new Hermetic({ TERMINAL_ENV: 'bubblewrap', TERMINAL_NETWORK: 'restricted' });
    });
    afterAll(async () => await rm(hermetic.home, { recursive: true, force: true, maxRetries: 10 }));

    const asked = (command: string) => atTerminal(hermetic, ['run', '--ask', '--', command]);

    it('gets the lines that answer it, also the second of two, and the command gets the others', async () => {
      const terminal = asked(
        `${reach('one.example')} & sleep 2; ${reach('two.example')} & read -r line; wait; echo "the command read <$line>"`,
      );
      await terminal.sees(choices);
      // The second one waits for its turn.
      await sleep(4_000);
      const shown = terminal.text().length;
      terminal.type('d first\r');
      await terminal.sees(/two\.example:80 is wanted by[\s\S]*and why\): /, shown);
      terminal.type('d second\r');
      await terminal.sees('two.example:80 is blocked');
      terminal.type('hello\r');
      expect(await terminal.exit).toBe(0);
      expect(terminal.text()).toContain('the command read <hello>');
    });

    it('is not written over by what the command prints meanwhile', async () => {
      const terminal = asked(`${reach('one.example')} & sleep 2; echo "printed $((20 + 3))"; wait`);
      await terminal.sees(choices);
      await sleep(4_000);
      expect(terminal.text()).not.toContain('printed 23');
      terminal.type('d\r');
      await terminal.sees('printed 23');
      expect(await terminal.exit).toBe(0);
    });

    it('is withdrawn when the command ends without waiting for it', async () => {
      const terminal = asked(`${reach('one.example')} & sleep 2; kill $!; echo "the end $((20 + 3))"`);
      await terminal.sees('one.example:80 is wanted by');
      expect(await terminal.exit).toBe(0);
      expect(terminal.text()).toContain('the end 23');
      expect((await hermetic.run(['approvals', 'list'])).stdout).not.toContain('one.example');
    });

    it('is not answered by what was typed before it could be read', async () => {
      const terminal = asked(`${reach('one.example')}; echo "the end $((20 + 3))"`);
      await terminal.sees('May this connect from');
      terminal.type('o\ra');
      await terminal.sees(choices);
      terminal.type('d\r');
      expect(await terminal.exit).toBe(0);
      expect(terminal.text()).toContain('one.example:80 (denied by');
    });

    it('is denied by Ctrl-C, and the command goes on', async () => {
      const terminal = asked(`${reach('one.example')}; echo "the end $((20 + 3))"`);
      await terminal.sees(choices);
      terminal.type('\u0003');
      await terminal.sees('the end 23');
      expect(await terminal.exit).toBe(0);
    });
  });
});
