import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readdirSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { SessionPeers } from '../../src/app/session-peers.ts';
import { until } from '../until.ts';

function peersOf(isContained: boolean): { peers: SessionPeers; home: string } {
  const home = mkdtempSync(join(tmpdir(), 'hermetic-peers-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  return { peers: new SessionPeers({ home, isContained: () => isContained }), home };
}

/** A program that connects to a server here and stays, or is gone as soon as it has sent something. */
async function connected(after: string, before = ''): Promise<Socket> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const child = spawn('bash', ['-c', `${before} exec 3<>/dev/tcp/127.0.0.1/${port}; ${after}`], { stdio: 'ignore' });
  const [socket] = (await once(server, 'connection')) as [Socket];
  socket.on('error', () => undefined);
  onTestFinished(() => {
    child.kill('SIGKILL');
    socket.destroy();
    server.close();
  });
  return socket;
}

it("refuses a program with the marks of a session's command, also where sessions are contained", async () => {
  const socket = await connected('exec sleep 60', 'ulimit -S -x 12345;');
  for (const isContained of [true, false]) {
    const refusal = peersOf(isContained).peers.refusalOfConnection('This', socket);
    expect(await refusal).toBe('This is refused: a command of a session started this (its resource limits).');
  }
});

it('refuses a program that ended before it could be inspected, where commands run on the host itself', async () => {
  const socket = await connected('echo x >&3; exit');
  const { peers } = peersOf(false);
  // As long as it is there, it is known as a program that this one has started.
  const refusal = await until('it is gone', async () => {
    const why = await peers.refusalOfConnection('This', socket);
    return why?.includes('above') ? undefined : why;
  });
  expect(refusal).toContain('it is unknown whether a command of a session started this: its process cannot be found');
  expect(await peersOf(true).peers.refusalOfConnection('This', socket)).toBeUndefined();
});

it('admits a program of this process that proves its process id, and leaves no file behind', async () => {
  const { peers, home } = peersOf(false);
  const held: number[] = [];
  const prove = async (path: string) => {
    held.push(openSync(path, 'r'));
    return process.pid;
  };
  expect(await peers.refusalOfTerminal(prove)).toBeUndefined();
  for (const descriptor of held) closeSync(descriptor);
  expect(readdirSync(home)).toEqual([]);
});

it.each([
  ['a number it does not have', async () => process.ppid],
  ['its number, without the file', async () => process.pid],
  ['no number', async () => 'me'],
  ['less than a number', async () => -1],
  ['nothing', async () => undefined],
])('refuses a terminal that answers with %s', async (_, answer) => {
  const { peers, home } = peersOf(false);
  expect(await peers.refusalOfTerminal(answer)).toContain('its process cannot be found');
  expect(readdirSync(home)).toEqual([]);
});
