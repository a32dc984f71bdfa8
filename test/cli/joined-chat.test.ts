import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { calls, inTurn, type ModelServer, says, startModelServer } from '../fakes/model-server.ts';
import { isAlive } from '../processes.ts';
import { until } from '../until.ts';
import { atTerminal } from './at-terminal.ts';
import { Hermetic } from './hermetic.ts';

let hermetic: Hermetic;
let model: ModelServer | undefined;
let running: ChildProcess[];
beforeEach(() => {
  hermetic = new Hermetic({ TERMINAL_ENV: 'local', HERMETIC_WEB_PORT: '0' });
  running = [];
});
afterEach(async () => {
  for (const child of running) {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
  }
  await model?.close();
  model = undefined;
  await rm(hermetic.home, { recursive: true, force: true, maxRetries: 10 });
});

const home = () => hermetic.environment.HERMETIC_HOME ?? '';

async function withModel(script: Parameters<typeof startModelServer>[0]): Promise<ModelServer> {
  model = await startModelServer(script);
  hermetic.useModel(model.url);
  return model;
}

/** A gateway that has printed its link. */
async function gateway(): Promise<ChildProcess> {
  const child = hermetic.start(['start']);
  running.push(child);
  await hermetic.untilGatewayRuns(child);
  return child;
}

async function joined(args: readonly string[] = []) {
  const terminal = atTerminal(hermetic, ['chat', ...args]);
  await terminal.sees('Joined the running gateway');
  return terminal;
}

/** The first command is under way: resolves with the id of its process. */
const pidIn = async (path: string): Promise<number> =>
  Number(await until('it runs', () => existsSync(path) && readFileSync(path, 'utf8').trim()));

it('streams answers and shows tools, in the same conversation that hermetic chat has alone', async () => {
  const more = Promise.withResolvers<void>();
  const server = await withModel(({ index }) =>
    index === 1
      ? { pieces: [{ text: 'The first half' }, { until: more.promise }, { text: ' and the second.' }] }
      : index === 2
        ? calls(['terminal', { command: 'echo $((6 * 7))' }])
        : says('done'),
  );
  expect((await hermetic.run(['chat'], { input: 'alone\n' })).stdout).toContain('done');
  await gateway();
  const terminal = await joined();
  terminal.type('tell me\r');
  await terminal.sees('The first half');
  await terminal.sees('working');
  more.resolve();
  await terminal.sees('The first half and the second.');
  terminal.type('count\r');
  await terminal.sees('✓ terminal  echo $((6 * 7))');
  await terminal.sees('done');
  expect(await terminal.leave()).toBe(0);
  expect(JSON.stringify(server.requests.at(-1)?.messages)).toMatch(/alone[\s\S]*tell me[\s\S]*count/);
});

it('asks at the terminal before a dangerous command, and does what the answer says', async () => {
  const victim = join(hermetic.home, 'victim');
  mkdirSync(victim);
  await withModel(inTurn(calls(['terminal', { command: `rm -rf ${victim}` }]), says('It is gone.')));
  await gateway();
  const terminal = await joined();
  terminal.type('remove it\r');
  await terminal.sees('1 Once (y)');
  expect(existsSync(victim)).toBe(true);
  terminal.type('1\r');
  await terminal.sees('It is gone.');
  expect(existsSync(victim)).toBe(false);
  await terminal.leave();
});

it('asks in the pipe about its own command, and takes the next line as the answer', async () => {
  const victim = join(hermetic.home, 'victim');
  mkdirSync(victim);
  await withModel(inTurn(calls(['terminal', { command: `rm -rf ${victim}` }]), says('It is gone.')));
  await gateway();
  expect((await hermetic.run(['chat'], { input: 'remove it\n1\n' })).stdout).toContain('It is gone.');
  expect(existsSync(victim)).toBe(false);
});

it('shows an open question again to a later terminal, also after the gateway was killed', async () => {
  const victim = join(hermetic.home, 'victim');
  mkdirSync(victim);
  await withModel(inTurn(calls(['terminal', { command: `rm -rf ${victim}` }]), says('It is gone.')));
  const first = await gateway();
  const terminal = await joined();
  terminal.type('remove it\r');
  await terminal.sees('1 Once (y)');
  await terminal.leave();
  const second = await joined();
  await second.sees('1 Once (y)');
  first.kill('SIGKILL');
  await second.sees('The gateway has stopped');
  expect(await second.exit).toBe(1);
  await gateway();
  const third = await joined();
  await third.sees('1 Once (y)');
  third.type('y\r');
  await third.sees('It is gone.');
  expect(existsSync(victim)).toBe(false);
  await third.leave();
});

it('Ctrl-C stops the running command, and Ctrl-D leaves it alone', async () => {
  await gateway();
  const [one, two] = [join(hermetic.home, 'one'), join(hermetic.home, 'two')];
  const terminal = await joined();
  terminal.type(`/run echo $$ > ${one}; exec sleep 1000\r`);
  const stopped = await pidIn(one);
  await terminal.sees('terminal  echo $$');
  terminal.type('\u0003');
  await terminal.sees('interrupted');
  expect(() => process.kill(stopped, 0)).toThrow('ESRCH');
  terminal.type(`/run echo $$ > ${two}; exec sleep 1000\r`);
  const left = await pidIn(two);
  expect(await terminal.leave()).toBe(0);
  expect(process.kill(left, 0)).toBe(true);
  const next = await joined();
  await next.sees('terminal  echo $$');
  next.type('\u0003');
  await next.sees('interrupted');
  expect(() => process.kill(left, 0)).toThrow('ESRCH');
  await next.leave();
});

it('shows messages that arrived without a terminal at the next join, once', async () => {
  const more = Promise.withResolvers<void>();
  await withModel(() => ({ pieces: [{ text: 'Begun' }, { until: more.promise }, { text: ' and ended.' }] }));
  await gateway();
  const terminal = await joined();
  terminal.type('tell me\r');
  await terminal.sees('Begun');
  const [program = ''] = readFileSync(`/proc/${terminal.pid}/task/${terminal.pid}/children`, 'utf8').split(' ');
  process.kill(terminal.pid ?? 0, 'SIGKILL');
  await terminal.exit;
  // It ends a little after its terminal, and would take the answer for shown until then.
  await until('it has ended', () => !isAlive(Number(program)));
  more.resolve();
  await until('the answer waits', async () => (await hermetic.run(['status'])).stdout.includes('0 turns running'));
  const next = await joined();
  await next.sees('Begun and ended.');
  await next.leave();
  const last = await hermetic.run(['chat'], { input: '/whoami\n' });
  expect(last.stdout).toContain('You are');
  expect(last.stdout).not.toContain('Begun');
});

it('answers a pipe line by line, saves files and sends attached ones', async () => {
  const server = await withModel(({ last, index }) => {
    if (index === 0) return calls(['terminal', { command: 'printf two > b.txt' }]);
    if (index === 1) return calls(['send_file', { path: 'b.txt' }]);
    if (index === 3) return calls(['read_file', { path: /\/[^\s"]*notes\.txt/.exec(last.text)?.[0] }]);
    return says(`answer ${index}\nin two lines`);
  });
  await gateway();
  writeFileSync(join(hermetic.home, 'notes.txt'), 'the words in it');
  const outcome = await hermetic.run(['chat', '--save-to', 'kept'], { input: 'send\n/attach notes.txt\nread it\n' });
  expect(outcome).toMatchObject({ code: 0 });
  expect(outcome.stdout).toMatch(/answer 2\nin two lines\n[\s\S]*answer 4\nin two lines\n$/);
  expect(readFileSync(join(hermetic.home, 'kept', 'b.txt'), 'utf8')).toBe('two');
  expect(server.requests[4]?.last.text).toContain('the words in it');
});

it('shows the answer to a killed chat at the next join, and an interrupt ends the running command', async () => {
  const more = Promise.withResolvers<void>();
  const server = await withModel(() => ({ pieces: [{ until: more.promise }, { text: 'The answer.' }] }));
  await gateway();
  const killed = hermetic.start(['chat']);
  killed.stdin?.write('tell me\n');
  await until('the model is asked', () => server.requests.length === 1);
  killed.kill('SIGKILL');
  await once(killed, 'close');
  more.resolve();
  const pid = join(hermetic.home, 'pid');
  const next = hermetic.start(['chat']);
  let stdout = '';
  next.stdout?.on('data', (data: Buffer) => (stdout += data.toString()));
  await until('the answer is shown', () => stdout.includes('The answer.'));
  next.stdin?.write(`/run echo $$ > ${pid}; exec sleep 1000\n`);
  const command = await pidIn(pid);
  next.kill('SIGINT');
  expect((await once(next, 'close'))[0]).toBe(130);
  expect(() => process.kill(command, 0)).toThrow('ESRCH');
});

it('reports a gateway that is killed in the middle, and loses nothing', async () => {
  const marks = join(hermetic.home, 'marks');
  const first = await gateway();
  const child = hermetic.start(['chat']);
  let stderr = '';
  child.stderr?.on('data', (data: Buffer) => (stderr += data.toString()));
  child.stdin?.write(`/run echo ran >> ${marks}; exec sleep 1000\n`);
  await until('it runs', () => existsSync(marks) && readFileSync(marks, 'utf8') !== '');
  first.kill('SIGKILL');
  expect((await once(child, 'close'))[0]).toBe(1);
  expect(stderr).toContain('The gateway has stopped.');
  await gateway();
  const next = await hermetic.run(['chat'], { input: '/whoami\n' });
  expect(next.stdout).toMatch(/interrupted while running \/run[\s\S]*You are/);
  expect(readFileSync(marks, 'utf8')).toBe('ran\n');
});

it('waits for a gateway that is still starting', async () => {
  const child = hermetic.start(['start']);
  running.push(child);
  await until('it has begun', () => existsSync(join(home(), 'gateway.sock')));
  expect(await hermetic.run(['chat'], { input: '/whoami\n' })).toMatchObject({ code: 0, stdout: expect.stringContaining('You are') });
});

it('admits one terminal to each conversation', async () => {
  await gateway();
  const terminal = await joined();
  const second = await hermetic.run(['chat'], { input: '/whoami\n' });
  expect(second).toMatchObject({ code: 1, stdout: '' });
  expect(second.stderr).toContain('Another terminal is in this conversation.');
  expect(await hermetic.run(['chat', '--session', 'other'], { input: '/whoami\n' })).toMatchObject({ code: 0 });
  await terminal.leave();
});

it('keeps the terminal socket for its owner alone, refuses other versions and survives malformed input', async () => {
  await gateway();
  const path = join(home(), 'terminal.sock');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(home()).mode & 0o777).toBe(0o700);
  const answerTo = async (line: string): Promise<string> => {
    const socket = connect(path);
    socket.write(`${line}\n`);
    const answer = text(socket);
    socket.once('data', () => socket.end());
    return await answer;
  };
  const hello = { version: 1, chat: 'default', name: 'x', isLive: false };
  expect(await answerTo(JSON.stringify({ id: 1, name: 'hello', value: hello }))).toContain('takes terminals of version 2');
  expect(await answerTo('not JSON')).toBe('');
  expect(await answerTo(JSON.stringify({ id: 1, name: 'message', value: { id: 'x', text: '/whoami', files: [] } }))).toBe('');
  expect(await hermetic.run(['chat'], { input: '/whoami\n' })).toMatchObject({ code: 0, stdout: expect.stringContaining('You are') });
});
