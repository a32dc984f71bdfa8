import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { askInstance, claimInstance } from '../../src/lib/instance.ts';
import { listenForOwner } from '../../src/lib/owner-socket.ts';

let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'hermetic-instance-'));
  path = join(directory, 'one.sock');
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

it('answers over a socket that only its owner can use', async () => {
  const instance = await claimInstance(path, async () => ({ turns: 3 }));
  expect(await askInstance(path)).toEqual({ turns: 3 });
  expect(statSync(path).mode & 0o777).toBe(0o600);
  await instance?.close();
});

it('makes the socket for its owner alone from the first moment', async () => {
  const umask = process.umask(0);
  try {
    const listening = listenForOwner(path, (socket) => socket.destroy());
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(process.umask()).toBe(0);
    (await listening).close();
  } finally {
    process.umask(umask);
  }
});

it('a second claim fails while the first instance lives, and succeeds afterwards', async () => {
  const first = await claimInstance(path, async () => 'first');
  expect(await claimInstance(path, async () => 'second')).toBeUndefined();
  expect(await askInstance(path)).toBe('first');
  await first?.close();
  const second = await claimInstance(path, async () => 'second');
  expect(await askInstance(path)).toBe('second');
  await second?.close();
  expect(await askInstance(path)).toBeUndefined();
});

it('a second claim fails also while the first instance cannot answer', async () => {
  const first = await claimInstance(path, async () => {
    throw new Error('the store is busy');
  });
  expect(await askInstance(path)).toBeUndefined();
  expect(await claimInstance(path, async () => 'second')).toBeUndefined();
  await first?.close();
});

it('a claim takes the place of a killed instance', async () => {
  const child = spawn(process.execPath, ['-e', `require('net').createServer().listen(${JSON.stringify(path)}, () => console.log('up'))`]);
  await once(child.stdout, 'data');
  expect(await claimInstance(path, async () => 'second')).toBeUndefined();
  child.kill('SIGKILL');
  await once(child, 'close');
  expect(statSync(path).isSocket()).toBe(true);
  const second = await claimInstance(path, async () => 'second');
  expect(await askInstance(path)).toBe('second');
  await second?.close();
});

it('one of several simultaneous claims on a dead instance succeeds', async () => {
  const child = spawn(process.execPath, ['-e', `require('net').createServer().listen(${JSON.stringify(path)}, () => console.log('up'))`]);
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'close');
  const claimed = await Promise.all(Array.from({ length: 8 }, (_, index) => claimInstance(path, async () => index)));
  const winners = claimed.flatMap((instance, index) => (instance ? [index] : []));
  expect(winners).toHaveLength(1);
  expect(await askInstance(path)).toBe(winners[0]);
  await claimed[winners[0] ?? 0]?.close();
});

it('an instance is reachable by a path longer than a socket address', async () => {
  const deep = join(directory, 'd'.repeat(120));
  mkdirSync(deep);
  path = join(deep, 'one.sock');
  const first = await claimInstance(path, async () => 'first');
  expect(await askInstance(path)).toBe('first');
  expect(await claimInstance(path, async () => 'second')).toBeUndefined();
  const elsewhere = `import { askInstance } from ${JSON.stringify(join(import.meta.dirname, '../../src/lib/instance.ts'))}; console.log(await askInstance(process.argv[1]));`;
  const asked = spawn(process.execPath, ['--input-type=module', '-e', elsewhere, path]);
  expect(await text(asked.stdout)).toBe('first\n');
  await first?.close();
  expect(readdirSync(deep)).toEqual(['one.sock.lock']);
  expect(await askInstance(path)).toBeUndefined();
});
