import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { askInstance } from '../../src/lib/instance.ts';
import { calls, inTurn, type ModelServer, says, startModelServer } from '../fakes/model-server.ts';
import { until } from '../until.ts';
import { atTerminal } from './at-terminal.ts';
import { Hermetic } from './hermetic.ts';

let hermetic: Hermetic;
let model: ModelServer | undefined;
beforeEach(() => {
  hermetic = new Hermetic({ TERMINAL_ENV: 'local' });
});
afterEach(async () => {
  await model?.close();
  model = undefined;
  await rm(hermetic.home, { recursive: true, force: true, maxRetries: 10 });
});

const home = () => hermetic.environment.HERMETIC_HOME ?? '';
const status = async () => (await askInstance(join(home(), 'gateway.sock'))) as { channels?: unknown; turnsRunning?: number } | undefined;

/** A model that does what the script says. */
async function withModel(script: Parameters<typeof startModelServer>[0]): Promise<ModelServer> {
  model = await startModelServer(script);
  hermetic.useModel(model.url);
  return model;
}

describe('hermetic chat in a pipe', () => {
  it('chat runs commands without a model, and says how to add one', async () => {
    const outcome = await hermetic.run(['chat'], { input: '/run echo $((6 * 7))\nhello\n/nonsense\n' });
    expect(outcome.code).toBe(0);
    expect(outcome.stdout).toMatch(/^```\n42\n```\n.*hermetic setup.*\nThere is no \/nonsense/);
    expect(outcome.stderr).toContain('✓ terminal  echo $((6 * 7))');
  });

  it('sends each line of a pipe after the previous answer, and keeps the conversation', async () => {
    const server = await withModel(({ last, messages }) => says(`${messages.filter(({ role }) => role === 'user').length}: ${last.text}`));
    const outcome = await hermetic.run(['chat'], { input: 'one\ntwo\n' });
    expect(outcome.stdout).toMatch(/^1: .*\none\n[\s\S]*\n2: .*\ntwo\n/);
    expect((await hermetic.run(['chat'], { input: 'three\n' })).stdout).toMatch(/^3: .*\nthree\n/);
    expect((await hermetic.run(['chat', '--session', 'other'], { input: 'four\n' })).stdout).toMatch(/^1: .*\nfour\n/);
    expect(server.requests).toHaveLength(4);
  });

  it.each([
    ['a yes from the next line', 'remove it\ny\n', false],
    ['a no from the next line', 'remove it\n4\n', true],
    ['a no when there is no next line', 'remove it\n', true],
  ])('takes %s as the answer to a question', async (_case, input, isLeft) => {
    const victim = join(hermetic.home, 'victim');
    mkdirSync(victim);
    await withModel(inTurn(calls(['terminal', { command: `rm -rf ${victim}` }]), says('over')));
    const outcome = await hermetic.run(['chat'], { input });
    expect(outcome).toMatchObject({ code: 0 });
    expect(outcome.stdout).toContain(`rm -rf ${victim}`);
    expect(outcome.stdout).toMatch(/over\n$/);
    expect(existsSync(victim)).toBe(isLeft);
  });

  it("saves the agent's files under harmless names, for their owner alone, and overwrites nothing", async () => {
    const script = 'printf one > .hidden; printf two > b.txt';
    const send = (path: string) => calls(['send_file', { path }]);
    await withModel(inTurn(calls(['terminal', { command: script }]), send('.hidden'), send('b.txt'), send('b.txt'), says('sent')));
    const outcome = await hermetic.run(['chat'], { input: 'send\n' });
    const received = join(home(), 'received');
    expect(readdirSync(received).sort()).toEqual(['b-2.txt', 'b.txt', 'hidden']);
    expect(readFileSync(join(received, 'b-2.txt'), 'utf8')).toBe('two');
    expect(statSync(join(received, 'b.txt')).mode & 0o777).toBe(0o600);
    expect(outcome.stderr).toContain(`saved as ${join(received, 'b-2.txt')}`);
  });

  it('/attach sends a file to the agent', async () => {
    const server = await withModel(({ last, index }) =>
      index === 0 ? calls(['read_file', { path: /\/[^\s"]*notes\.txt/.exec(last.text)?.[0] }]) : says('read'),
    );
    writeFileSync(join(hermetic.home, 'notes.txt'), 'the words in it');
    await hermetic.run(['chat'], { input: '/attach notes.txt\nread it\n' });
    expect(server.requests[1]?.last.text).toContain('the words in it');
  });

  it('exits with 130 when it is interrupted, and ends the running command', async () => {
    const child = hermetic.start(['chat']);
    const pid = join(hermetic.home, 'pid');
    child.stdin?.write(`/run echo $$ > ${pid}; exec sleep 1000\n`);
    const running = Number(await until('it runs', () => existsSync(pid) && readFileSync(pid, 'utf8').trim()));
    child.kill('SIGINT');
    expect((await once(child, 'close'))[0]).toBe(130);
    expect(() => process.kill(running, 0)).toThrow('ESRCH');
  });
});

describe('hermetic chat at a terminal', () => {
  it('chat greets, runs commands, and leaves at Ctrl-D', async () => {
    const terminal = atTerminal(hermetic, ['chat']);
    await terminal.sees('Ctrl-D leaves');
    terminal.type('/run echo $((6 * 7))\r');
    await terminal.sees(/\n42\r?\n/);
    await terminal.sees('✓ terminal');
    terminal.type('\u0004');
    expect(await terminal.exit).toBe(0);
    expect(await status()).toBeUndefined();
  });

  it('shows a text while it grows, and every word once in the end', async () => {
    const more = Promise.withResolvers<void>();
    await withModel(() => ({ pieces: [{ text: 'The first half' }, { until: more.promise }, { text: ' and the second.' }] }));
    const terminal = atTerminal(hermetic, ['chat']);
    await terminal.sees('Ctrl-D leaves');
    terminal.type('tell me\r');
    await terminal.sees('The first half');
    await terminal.sees('working');
    more.resolve();
    await terminal.sees('The first half and the second.');
    terminal.type('\u0004');
    expect(await terminal.exit).toBe(0);
  });

  it('chat asks before a dangerous command, and does what the answer says', async () => {
    const victim = join(hermetic.home, 'victim');
    mkdirSync(victim);
    await withModel(inTurn(calls(['terminal', { command: `rm -rf ${victim}` }]), says('It is gone.')));
    const terminal = atTerminal(hermetic, ['chat']);
    await terminal.sees('Ctrl-D leaves');
    terminal.type('remove it\r');
    await terminal.sees('1 Once (y)');
    expect(terminal.text()).toContain('Leaves the workspace');
    terminal.type('perhaps\r');
    await terminal.sees('not one of the answers');
    expect(existsSync(victim)).toBe(true);
    terminal.type('y\r');
    await terminal.sees('It is gone.');
    expect(existsSync(victim)).toBe(false);
    await terminal.leave();
  });

  it('the first Ctrl-C stops the running command, and the next one leaves', async () => {
    const terminal = atTerminal(hermetic, ['chat']);
    const pid = join(hermetic.home, 'pid');
    await terminal.sees('Ctrl-D leaves');
    terminal.type(`/run echo $$ > ${pid}; exec sleep 1000\r`);
    const running = Number(await until('it runs', () => existsSync(pid) && readFileSync(pid, 'utf8').trim()));
    terminal.type('\u0003');
    await terminal.sees('interrupted');
    expect(() => process.kill(running, 0)).toThrow('ESRCH');
    // Until then the next one stops the same turn.
    await until('its turn is over', async () => (await status())?.turnsRunning === 0);
    terminal.type('\u0003');
    expect(await terminal.exit).toBe(0);
  });

  it('the arrow keys bring back earlier input', async () => {
    const terminal = atTerminal(hermetic, ['chat']);
    await terminal.sees('Ctrl-D leaves');
    terminal.type('/run echo again\r');
    await terminal.sees(/\nagain\r?\n/);
    const before = terminal.text().length;
    terminal.type('\u001b[A\r');
    await terminal.sees(/\nagain\r?\n/, before);
    await terminal.leave();
  });

  it('sends pasted lines as one message', async () => {
    const server = await withModel(() => says('read'));
    const terminal = atTerminal(hermetic, ['chat']);
    await terminal.sees('Ctrl-D leaves');
    terminal.type('first line\rsecond line\r');
    await until('it is asked', () => server.requests.length === 1);
    expect(server.requests[0]?.last.text).toMatch(/first line\nsecond line/);
    await terminal.leave();
  });

  it('escapes control sequences that a model or a command prints', async () => {
    await withModel(() => says('\u001b]0;owned\u0007 and \u001b[8mhidden'));
    const terminal = atTerminal(hermetic, ['chat']);
    await terminal.sees('Ctrl-D leaves');
    terminal.type("hello\r/run printf '\\033]0;owned\\007'\r");
    await terminal.sees('hidden');
    expect(terminal.raw()).not.toContain('\u001b]0;owned');
    expect(terminal.raw()).not.toContain('\u001b[8m');
    await terminal.leave();
  });
});

it('names the command that a crash interrupted, and does not run it again', async () => {
  const child = hermetic.start(['chat']);
  const marks = join(hermetic.home, 'marks');
  child.stdin?.write(`/run echo ran >> ${marks}; exec sleep 1000\n`);
  await until('it runs', () => existsSync(marks) && readFileSync(marks, 'utf8') !== '');
  child.kill('SIGKILL');
  await once(child, 'close');
  const next = await hermetic.run(['chat'], { input: '/whoami\n' });
  expect(next.stdout).toMatch(/interrupted while running \/run[\s\S]*You are/);
  expect(readFileSync(marks, 'utf8')).toBe('ran\n');
});

it('a second chat for the same home is refused with the name of the first', async () => {
  const first = hermetic.start(['chat']);
  await until('it runs', async () => (await status())?.channels);
  const second = await hermetic.run(['chat'], { input: '/whoami\n' });
  expect(second).toMatchObject({ code: 1, stdout: '' });
  expect(second.stderr).toMatch(/A terminal chat is already open for this home/);
  first.stdin?.end();
  expect((await once(first, 'close'))[0]).toBe(0);
});
