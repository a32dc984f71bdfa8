import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openStore } from '../../src/stores/index.ts';
import { Hermetic } from './hermetic.ts';

let hermetic: Hermetic;
beforeEach(async () => {
  hermetic = new Hermetic();
  await hermetic.run(['config', 'path']);
});
afterEach(() => rm(hermetic.home, { recursive: true, force: true, maxRetries: 10 }));

interface Listed {
  paired: { platform: string; person: string; name: string; role: string; by: string }[];
  waiting: { platform: string; person: string; name: string }[];
}

const list = async (): Promise<Listed> => JSON.parse((await hermetic.run(['pairing', 'list', '--json'])).stdout) as Listed;

/** Somebody who was given this code, while another process has the database open. */
async function asks(code: string, person = '4711', name = 'Ada'): Promise<void> {
  const store = await openStore(join(hermetic.environment.HERMETIC_HOME ?? '', 'state.db'));
  const requestedAt = new Date();
  const expiresAt = new Date(requestedAt.getTime() + 3_600_000);
  await store.pairing.request({ platform: 'telegram', person, name, requestedAt, expiresAt }, code);
  await store.close();
}

it('lists requests, pairs a person by their code in any spelling, and revokes them', async () => {
  expect((await hermetic.run(['pairing', 'list'])).stdout).toBe('No one is paired, and no pairing code is pending.\n');
  await asks('K7QW2MHX');
  expect((await hermetic.run(['pairing', 'list'])).stdout).toMatch(/telegram +4711 +Ada +asks/);
  const approved = await hermetic.run(['pairing', 'approve', 'k7qw2mhx']);
  expect(approved).toMatchObject({ code: 0, stdout: 'Ada (4711 on telegram) may talk as user.\n' });
  expect(await list()).toMatchObject({ paired: [{ platform: 'telegram', person: '4711', name: 'Ada', role: 'user' }], waiting: [] });
  expect(await hermetic.run(['pairing', 'revoke', 'telegram', '4711'])).toMatchObject({ code: 0 });
  expect(await list()).toEqual({ paired: [], waiting: [] });
});

it('makes an admin only when told to, and records who did it', async () => {
  await asks('K7QW2MHX');
  await hermetic.run(['pairing', 'approve', 'K7QW2MHX', '--admin']);
  const [paired] = (await list()).paired;
  expect(paired).toMatchObject({ role: 'admin', by: expect.stringMatching(/^shell:./) });
});

it('accepts the right code after any number of typing mistakes', async () => {
  await asks('K7QW2MHX');
  for (let attempt = 0; attempt < 6; attempt++) {
    const wrong = await hermetic.run(['pairing', 'approve', 'WRONGONE']);
    expect(wrong).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('not valid or has expired') });
  }
  expect((await list()).paired).toEqual([]);
  expect(await hermetic.run(['pairing', 'approve', 'K7QW2MHX'])).toMatchObject({ code: 0 });
});

it('fails to revoke a person who is not paired', async () => {
  const outcome = await hermetic.run(['pairing', 'revoke', 'telegram', '4711']);
  expect(outcome).toMatchObject({ code: 1, stdout: '' });
  expect(outcome.stderr).toContain('is not paired');
});

it('escapes control characters and imitated rows in names', async () => {
  await asks('K7QW2MHX', '4711', '\u001b[2JAda\ntelegram  1  Owner  admin');
  const { stdout } = await hermetic.run(['pairing', 'list']);
  expect(stdout).not.toContain('\u001b');
  expect(stdout.trimEnd().split('\n')).toHaveLength(2);
});
