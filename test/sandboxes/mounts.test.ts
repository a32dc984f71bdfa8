import { existsSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { presentEngineSockets } from '../../src/backends/engine-sockets.ts';
import { checkedMounts } from '../../src/sandboxes/mounts.ts';

const root = mkdtempSync(join(tmpdir(), 'hermetic-mounts-'));
const home = join(root, 'me', '.hermetic');
mkdirSync(join(home, 'skills'), { recursive: true });
mkdirSync(join(root, 'me', 'project'));
symlinkSync('/etc', join(root, 'me', 'project', 'harmless'));
symlinkSync(home, join(root, 'me', 'link-to-home'));
afterAll(() => rm(root, { recursive: true }));

const rules = { allowDangerous: false, engineSockets: [] as string[], forbidden: { [home]: 'it is the home of Hermetic itself' } };
const check = (source: string, allowDangerous = false) =>
  checkedMounts([{ source, target: '/data', readOnly: true }], { ...rules, allowDangerous });

describe('the sources of mounts', () => {
  it('resolves the source of a mount before it is checked', async () => {
    symlinkSync(join(root, 'me', 'project'), join(root, 'alias'));
    expect(await check(join(root, 'alias'))).toEqual([{ source: join(root, 'me', 'project'), target: '/data', readOnly: true }]);
  });

  it.each([
    ['the whole host', '/'],
    ['the configuration of the host', '/etc'],
    ['a file that holds passwords', '/etc/shadow'],
    ['the processes', '/proc/self'],
    ['the devices', '/dev/null'],
    ['the sockets', '/run'],
    ['the home of Hermetic', home],
    ['something in the home of Hermetic', join(home, 'skills')],
    ['something that contains the home of Hermetic', join(root, 'me')],
    ['a link to a dangerous place', join(root, 'me', 'project', 'harmless')],
    ['a link to the home of Hermetic', join(root, 'me', 'link-to-home')],
  ])('refuses to mount %s, even read-only, unless dangerous mounts are allowed', async (_, source) => {
    await expect(check(source)).rejects.toMatchObject({
      code: 'config/bad-value',
      hint: expect.stringContaining('allow_dangerous_mounts'),
    });
    expect((await check(source, true))[0]).toMatchObject({ target: '/data', readOnly: true });
  });

  it('refuses to mount the socket of an engine at any path', async () => {
    const path = join(root, 'docker.sock');
    const server = createServer().listen(path);
    for (const allowDangerous of [false, true]) await expect(check(path, allowDangerous)).rejects.toThrow(/socket of a container engine/);
    server.close();
  });

  it('covers the socket of an engine in a mounted directory', async () => {
    const directory = join(root, 'services');
    mkdirSync(directory);
    const engineSockets = [join(directory, 'engine.sock')];
    const server = createServer().listen(engineSockets[0]);
    const found = await checkedMounts([{ source: directory, target: '/data', readOnly: true }], { ...rules, engineSockets });
    expect(found).toEqual([
      { source: directory, target: '/data', readOnly: true },
      { source: expect.stringContaining('hidden-socket.txt'), target: '/data/engine.sock', readOnly: true },
    ]);
    server.close();
  });

  it('finds the sockets of engines that run without root', async () => {
    const users = join(root, 'users');
    mkdirSync(join(users, '1000', 'podman'), { recursive: true });
    for (const name of ['docker.sock', 'podman/podman.sock']) writeFileSync(join(users, '1000', name), '');
    const found = await presentEngineSockets([], users);
    expect(found).toEqual(expect.arrayContaining([join(users, '1000', 'docker.sock'), join(users, '1000', 'podman', 'podman.sock')]));
  });

  it.each(['/run/user', '/run/dbus', '/run/systemd'])('refuses to mount %s, where programs of the host can be started', async (place) => {
    if (existsSync(place)) await expect(check(place)).rejects.toThrow(/on the host/);
  });

  it('refuses a source that does not exist', async () => {
    await expect(check('/no/such/place')).rejects.toThrow(/does not exist/);
  });

  it.each(['/received', '/received/x', '/x/../received/'])('refuses a mount at %s, where received files are', async (target) => {
    const mounts = [{ source: join(root, 'me', 'project'), target, readOnly: true }];
    await expect(checkedMounts(mounts, { ...rules, allowDangerous: true })).rejects.toThrow(/files that people send/);
  });

  it('accepts an ordinary directory as a source', async () => {
    await expect(check(join(root, 'me', 'project'))).resolves.toHaveLength(1);
  });
});
