import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { SshConnection, type SshOptions } from '../../../src/lib/ssh/connection.ts';
import { type Behaviour, startFakeSshServer } from '../../fakes/ssh-server.ts';

const token = 'a-token-that-is-a-secret';

async function optionsFor(behaviour: Behaviour): Promise<SshOptions> {
  const server = await startFakeSshServer(behaviour);
  const directory = mkdtempSync(join(tmpdir(), 'hermetic-token-test-'));
  onTestFinished(async () => {
    await server.close();
    rmSync(directory, { recursive: true, force: true });
  });
  const target = { user: token, host: '127.0.0.1', port: server.port, isToken: true };
  return { target, jumps: [], hostKeys: { path: join(directory, 'known_hosts'), acceptNew: true } };
}

it('enters with a token alone, without a key or an agent', async () => {
  const connection = await SshConnection.open(await optionsFor({ exec: (channel) => channel.end('in\n') }));
  onTestFinished(() => connection.close());
  const command = await connection.exec('true');
  expect(String((await command.stdout.toArray()).join(''))).toBe('in\n');
});

it.each<[string, Behaviour]>([
  ['refuses it', { authentication: 'refuse' }],
  ['hangs up instead of an answer', { authentication: 'hang-up' }],
  ['lets everyone in, and hangs up when it has looked at the token', { authentication: 'hang-up-later' }],
])('tells that a token was not accepted, and never the token, when the server %s', async (_, behaviour) => {
  const error = (await SshConnection.open(await optionsFor(behaviour)).catch((reason: unknown) => reason)) as Error;
  expect(error).toMatchObject({ name: 'SshError', isPassing: true });
  expect([error.message, error.stack, String(error.cause)].join()).not.toContain(token);
});
