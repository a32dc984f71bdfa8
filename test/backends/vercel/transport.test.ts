import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { VercelProvider } from '../../../src/backends/vercel/provider.ts';
import type { AttachedCommand } from '../../../src/shell/streams/attached-command.ts';
import { describeNeeding } from '../../needs.ts';
import { until } from '../../until.ts';
import { printedBy, quietly, startVercel } from './rig.ts';

describeNeeding(['machines'], 'commands that Vercel carries', async () => {
  const { fake, provider, providerWith, wishFor } = await startVercel();
  const everyByte = Buffer.from(Array.from({ length: 256 }, (_, index) => index));

  let name = '';
  beforeAll(async () => {
    name = await provider.create(wishFor(), quietly);
  });

  afterEach(() => void fake.faults.splice(0));

  const start = (script: string, by: VercelProvider = provider): Promise<AttachedCommand> => by.attach(name)(['bash', '-c', script]);

  async function output(script: string): Promise<string> {
    const command = await start(script);
    command.stdin.end();
    return (await printedBy(command)).stdout.toString();
  }

  async function isThere(path: string): Promise<boolean> {
    return (await output(`[[ ! -e ${path} ]] || echo there`)) === 'there\n';
  }

  describe('a command at Vercel', () => {
    it('passes every byte of input, output and errors, and the exit code', async () => {
      const command = await start('tee /dev/stderr; exit 3');
      command.stdin.write(everyByte);
      command.stdin.end(everyByte);
      const twice = Buffer.concat([everyByte, everyByte]);
      expect(await printedBy(command)).toEqual({ stdout: twice, stderr: twice.toString(), code: 3 });
    });

    it('uploads large input as files instead of in hundreds of calls', async () => {
      const data = Buffer.alloc(3_000_000, everyByte);
      const command = await start('cat');
      const before = fake.requests.length;
      command.stdin.end(data);
      const { stdout } = await printedBy(command);
      expect(stdout.equals(data)).toBe(true);
      expect(fake.requests.slice(before).filter((what) => what.startsWith('POST')).length).toBeLessThan(20);
      expect(await output('ls /tmp')).toBe('');
    });

    it('hands input to several commands in one call when it is written at the same moment', async () => {
      const commands = await Promise.all(['a', 'b', 'c'].map(() => start('read -r line; echo "$line"')));
      const before = fake.requests.length;
      for (const [index, command] of commands.entries()) command.stdin.write(`line ${index}\n`);
      const printed = await Promise.all(commands.map(printedBy));
      expect(printed.map(({ stdout }) => stdout.toString())).toEqual(['line 0\n', 'line 1\n', 'line 2\n']);
      expect(fake.requests.slice(before).filter((what) => /POST .*\/cmd$/.test(what)).length).toBe(1);
    });

    it('keeps input and variables out of the arguments of commands, which Vercel shows for ever', async () => {
      const command = await provider.attach(name)(['env', 'SECRET=hunter2', 'bash', '-c', 'read -r line; echo "$SECRET $line"']);
      const { commands } = fake.sandboxOf(nameOfSpec()).session;
      const started = [...commands.values()].at(-1)?.record.args.join(' ') ?? '';
      expect(started).toContain('__HERMETIC_WORDS');
      expect(started).not.toContain('hunter2');
      command.stdin.write('swordfish\n');
      expect((await printedBy(command)).stdout.toString()).toBe('hunter2 swordfish\n');
    });

    it('loses and repeats nothing of an output whose stream is cut again and again', async () => {
      const command = await start('for i in {1..60}; do echo "$i"; sleep 0.02; done; exit 7');
      const cutting = setInterval(() => fake.cutLogs(), 250);
      const { stdout, code } = await printedBy(command).finally(() => clearInterval(cutting));
      expect(stdout.toString()).toBe(Array.from({ length: 60 }, (_, index) => `${index + 1}\n`).join(''));
      expect(code).toBe(7);
    });

    it('loses a command instead of going on with another output than it had', async () => {
      const command = await start('echo first; sleep 60');
      await until('it has printed', () => command.stdout.readableLength > 0);
      const line = JSON.stringify({ stream: 'stdout', data: 'something else altogether, and long enough to stand for what was printed' });
      fake.faults.push({
        matches: /logs$/,
        // Commands of the tests before may still be asking for theirs.
        times: 1_000,
        answer: (response) => void response.writeHead(200, { 'content-type': 'application/x-ndjson' }).end(`${line}\n`.repeat(20)),
      });
      fake.cutLogs();
      await expect(printedBy(command)).rejects.toThrow('cut');
    });

    it('hands input over once when it is unknown whether it arrived', async () => {
      const command = await start('read -r one; read -r two; echo "$one $two"');
      fake.faults.push({ matches: /POST .*\/cmd$/, when: 'after', times: 2, answer: (response) => void response.destroy() });
      command.stdin.write('one\n');
      command.stdin.write('two\n');
      expect((await printedBy(command)).stdout.toString()).toBe('one two\n');
    });

    it('starts a command once when the answer to its start is lost', async () => {
      fake.faults.push({ matches: /POST .*\/cmd$/, when: 'after', times: 1, answer: (response) => void response.destroy() });
      await expect(start('echo once >>/vercel/sandbox/times')).rejects.toThrow('Vercel does not answer');
      await until('it has run', () => isThere('/vercel/sandbox/times'));
      expect(await output('cat /vercel/sandbox/times')).toBe('once\n');
    });

    it('holds a command up whose output is not read, and goes on with it later', async () => {
      const command = await start('for ((i = 1; i <= 150; i++)); do head -c 65536 /dev/zero; echo "$i" >/vercel/sandbox/progress; done');
      command.stdout.pause();
      const progress = async (): Promise<number> => Number(await output('cat /vercel/sandbox/progress'));
      let last = -1;
      const isStill = async (): Promise<boolean> => {
        const before = last;
        last = await progress();
        return last === before;
      };
      await until('it makes no progress', isStill, { everyMs: 500 });
      expect(last).toBeLessThan(150);
      expect((await printedBy(command)).stdout.length).toBe(150 * 65_536);
    });

    it('passes on no more input of a program that was silent, and no end, which would make a part of it the whole', async () => {
      const dying = providerWith({ everyMs: 3_600_000, silenceSeconds: 1 });
      const command = await start('read -rt 4 line; echo "$?" >/vercel/sandbox/silent', dying);
      await until('its time to wait is over', () => isThere('/vercel/sandbox/silent'));
      // More than 128: neither a line nor an end came.
      expect(Number(await output('cat /vercel/sandbox/silent'))).toBeGreaterThan(128);
      command.destroy();
    });

    it('keeps the input of a command open by a sign of life', async () => {
      const living = providerWith({ everyMs: 200, silenceSeconds: 2 });
      const command = await start('read -rt 6 line; echo "$? $line"', living);
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      command.stdin.write('still here\n');
      expect((await printedBy(command)).stdout.toString()).toBe('0 still here\n');
    });

    it('delivers what an ended command printed to a reader that comes late, while signs of life find no command', async () => {
      const living = providerWith({ everyMs: 100, silenceSeconds: 10 });
      const command = await start('head -c 1000000 /dev/zero; touch /vercel/sandbox/printed', living);
      await until('it has ended', () => isThere('/vercel/sandbox/printed'));
      let before = -1;
      const isQuiet = (): boolean => {
        const last = before;
        before = fake.requests.length;
        return before === last;
      };
      await until('no more signs of life are sent', isQuiet, { everyMs: 500 });
      expect(await printedBy(command)).toMatchObject({ stdout: Buffer.alloc(1_000_000), code: 0 });
    });

    it('fails when its machine is stopped in the middle, and never ends as if all were said', async () => {
      const other = await provider.create(wishFor({ persistent: false }), quietly);
      const command = await provider.attach(other)(['bash', '-c', 'echo begun; sleep 60']);
      await until('it has begun', () => command.stdout.readableLength > 0);
      await fake.sandboxes.get(other)?.session.stop();
      await expect(printedBy(command)).rejects.toThrow('cut');
      expect(await command.exitCode()).toBeUndefined();
      await expect(provider.attach(other)(['true'])).rejects.toThrow(/stopped|does not run/);
    });
  });

  function nameOfSpec(): string {
    return fake.sandboxes.get(name)?.wishes.tags?.['hermetic-name'] ?? '';
  }
});
