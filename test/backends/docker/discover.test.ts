import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { dockerProduct, findDocker } from '../../../src/backends/docker/discover.ts';
import { parseHost } from '../../../src/backends/engine/address.ts';
import { describeNeeding } from '../../needs.ts';
import { type FakeEngine, fakeEngine } from '../engine/fake-engine.ts';

let root: string;
let fake: FakeEngine;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'hermetic-discover-'));
  fake = await fakeEngine({});
});
afterEach(async () => {
  await fake[Symbol.asyncDispose]();
  await rm(root, { recursive: true, force: true });
});

const environment = (more: Record<string, string> = {}) => ({ HOME: join(root, 'home'), PATH: join(root, 'bin'), ...more });
const find = (more: Record<string, string> = {}, dockerHost?: string, pingTimeoutMs = 60_000) =>
  findDocker({ environment: environment(more), dockerHost, root, platform: 'linux', pingTimeoutMs });

async function linkTo(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await symlink(fake.path, path);
}

async function program(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, '#!/bin/sh\n');
  await chmod(path, 0o755);
}

/** The file of a socket whose server is gone. */
async function deadSocket(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const script = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
  await promisify(execFile)(process.execPath, ['-e', script]).catch(() => undefined);
}

async function context(name: string, host: string): Promise<void> {
  const directory = join(root, 'home/.docker/contexts/meta', createHash('sha256').update(name).digest('hex'));
  await mkdir(directory, { recursive: true });
  await writeFile(
    join(directory, 'meta.json'),
    JSON.stringify({ Name: name, Metadata: {}, Endpoints: { docker: { Host: host, SkipTLSVerify: false } } }),
  );
}

async function currentContext(name: string): Promise<void> {
  await mkdir(join(root, 'home/.docker'), { recursive: true });
  await writeFile(join(root, 'home/.docker/config.json'), JSON.stringify({ auths: {}, currentContext: name }));
}

describe('a missing engine', () => {
  it('reports that docker is not installed when there is neither socket nor program', async () => {
    await expect(find()).rejects.toMatchObject({
      code: 'backend/not-installed',
      hint: expect.stringMatching(/apt-get install docker\.io/),
    });
  });

  it.each(['bin/docker', 'usr/local/bin/docker', 'opt/homebrew/bin/docker', 'Applications/Docker.app/Contents/Resources/bin/docker'])(
    'reports that docker is not running when %s is installed',
    async (path) => {
      await program(join(root, path));
      await expect(find()).rejects.toMatchObject({ code: 'backend/not-running', hint: expect.stringMatching(/systemctl start docker/) });
    },
  );

  it('ignores a docker program that is a directory or not executable', async () => {
    await mkdir(join(root, 'bin/docker'), { recursive: true });
    await mkdir(join(root, 'usr/local/bin'), { recursive: true });
    await writeFile(join(root, 'usr/local/bin/docker'), '', { mode: 0o644 });
    await expect(find()).rejects.toMatchObject({ code: 'backend/not-installed' });
  });

  it('reports that docker is not running when its socket is dead', async () => {
    await deadSocket(join(root, 'var/run/docker.sock'));
    await expect(find()).rejects.toMatchObject({ code: 'backend/not-running', cause: { code: 'ECONNREFUSED' } });
  });

  it('reports that docker is not running when its socket does not answer', async () => {
    await mkdir(join(root, 'var/run'), { recursive: true });
    const server = createServer((socket) => socket.resume());
    await new Promise<void>((resolve) => server.listen(join(root, 'var/run/docker.sock'), resolve));
    await expect(find({}, undefined, 300)).rejects.toMatchObject({
      code: 'backend/not-running',
      message: expect.stringMatching(/within 0.3 s/),
    });
    await new Promise((resolve) => server.close(resolve));
  });
});

describe('a configured engine', () => {
  it('prefers the engine of the configuration, then that of DOCKER_HOST', async () => {
    await linkTo(join(root, 'var/run/docker.sock'));
    expect((await find({}, `unix://${fake.path}`)).where).toBe(`unix://${fake.path}`);
    expect((await find({ DOCKER_HOST: `unix://${fake.path}` })).where).toBe(`unix://${fake.path}`);
    expect((await find({ DOCKER_HOST: 'unix:///there/is/none' }, `unix://${fake.path}`)).where).toBe(`unix://${fake.path}`);
  });

  it('uses the engine of the docker context', async () => {
    await linkTo(join(root, 'var/run/docker.sock'));
    await context('colima', `unix://${fake.path}`);
    await currentContext('colima');
    expect((await find()).where).toBe(`unix://${fake.path}`);
    await currentContext('default');
    expect((await find()).where).toBe(`unix://${root}/var/run/docker.sock`);
    expect((await find({ DOCKER_CONTEXT: 'colima' })).where).toBe(`unix://${fake.path}`);
  });

  it('reports an error when the configured engine does not answer, even if another would', async () => {
    await linkTo(join(root, 'var/run/docker.sock'));
    const refusal = { code: 'backend/not-running', message: expect.stringMatching(/no other engine is looked for/) };
    await expect(find({}, 'unix:///there/is/none')).rejects.toMatchObject(refusal);
    await expect(find({ DOCKER_HOST: 'unix:///there/is/none' })).rejects.toMatchObject(refusal);
    await expect(find({ DOCKER_HOST: 'tcp://127.0.0.1:1' })).rejects.toMatchObject(refusal);
    await context('gone', 'unix:///there/is/none');
    await currentContext('gone');
    await expect(find()).rejects.toMatchObject(refusal);
  });

  it('reports an error when the docker context is unknown or its file is not JSON', async () => {
    await linkTo(join(root, 'var/run/docker.sock'));
    await currentContext('unknown');
    await expect(find()).rejects.toMatchObject({ code: 'backend/unavailable', message: expect.stringMatching(/"unknown"/) });
    await writeFile(join(root, 'home/.docker/config.json'), '{');
    await expect(find()).rejects.toMatchObject({ code: 'backend/unavailable', message: expect.stringMatching(/config\.json/) });
  });

  it.each([
    ['ssh://', 'config/bad-value', /not the address/],
    ['ssh://-oProxyCommand=evil', 'config/bad-value', /not the address/],
    ['ssh://me:secret@server', 'config/bad-value', /not the address/],
    ['tcp://me:secret@server:2376', 'config/bad-value', /not the address/],
    ['tcp://server:2376/path', 'config/bad-value', /not the address/],
    ['npipe:////./pipe/docker_engine', 'config/bad-value', /not the address/],
    ['unix://relative', 'config/bad-value', /not the address/],
    ['nonsense', 'config/bad-value', /not the address/],
  ])('refuses %s as the address of an engine', async (host, code, message) => {
    await expect(find({ DOCKER_HOST: host })).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });

  it('parses the address of an engine by port and by socket', () => {
    const parse = (host: string) => parseHost(host, 'x', dockerProduct());
    expect(parse('tcp://10.0.0.1:2377')).toEqual({ kind: 'tcp', host: '10.0.0.1', port: 2377, isTls: false });
    expect(parse('tcp://server')).toEqual({ kind: 'tcp', host: 'server', port: undefined, isTls: false });
    expect(parse('tcp://server:80')).toMatchObject({ port: 80 });
    expect(parse('https://server')).toEqual({ kind: 'tcp', host: 'server', port: 443, isTls: true });
    expect(parse('tcp://[::1]:1')).toEqual({ kind: 'tcp', host: '::1', port: 1, isTls: false });
    const target = { user: 'me', host: 'server', port: 2222 };
    expect(parse('ssh://me@server:2222')).toEqual({ kind: 'ssh', target, path: undefined });
    expect(parse('ssh://me@server:2222/run/a.sock')).toEqual({ kind: 'ssh', target, path: '/run/a.sock' });
    expect(parse('/a b/docker.sock')).toEqual({ kind: 'unix', path: '/a b/docker.sock' });
  });
});

describe('an engine at a usual path', () => {
  it.each([
    '.docker/run/docker.sock',
    '.docker/desktop/docker.sock',
    '.colima/default/docker.sock',
    '.orbstack/run/docker.sock',
    '.rd/docker.sock',
  ])('finds an engine at ~/%s', async (path) => {
    await linkTo(join(root, 'home', path));
    expect((await find()).where).toBe(`unix://${join(root, 'home', path)}`);
  });

  it('finds an engine behind a dead socket', async () => {
    await deadSocket(join(root, 'var/run/docker.sock'));
    await linkTo(join(root, 'run/docker.sock'));
    expect((await find({ XDG_RUNTIME_DIR: join(root, 'run') })).where).toBe(`unix://${root}/run/docker.sock`);
  });
});

describeNeeding(['another-user'], 'an engine of another user', () => {
  async function findAsNobody(more: Record<string, string> = {}): Promise<{ code: string; hint: string }> {
    await chmod(root, 0o755);
    const script = `
      import { findDocker } from ${JSON.stringify(join(import.meta.dirname, '../../../src/backends/docker/discover.ts'))};
      const error = await findDocker(${JSON.stringify({ environment: environment(more), root, platform: 'linux' })}).catch((error) => error);
      console.log(JSON.stringify({ code: error.code ?? String(error), hint: error.hint }));
    `;
    const args = ['--reuid', '65534', '--regid', '65534', '--clear-groups', process.execPath, '--input-type=module', '-e', script];
    const { stdout } = await promisify(execFile)('setpriv', args);
    return JSON.parse(stdout);
  }

  it('reports missing permission, with a hint that names the group', async () => {
    await chmod(fake.path, 0o660);
    await chmod(dirname(fake.path), 0o755);
    await linkTo(join(root, 'var/run/docker.sock'));
    expect(await findAsNobody()).toMatchObject({ code: 'backend/not-permitted', hint: expect.stringMatching(/usermod -aG docker/) });
    expect(await findAsNobody({ DOCKER_HOST: `unix://${fake.path}` })).toMatchObject({ code: 'backend/not-permitted' });
  });

  it('ignores a socket in a home directory that this user cannot see', async () => {
    await linkTo(join(root, 'home/.docker/run/docker.sock'));
    await chmod(join(root, 'home'), 0o700);
    expect(await findAsNobody()).toMatchObject({ code: 'backend/not-installed' });
  });
});
