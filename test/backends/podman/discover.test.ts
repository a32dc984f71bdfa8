import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { findPodman } from '../../../src/backends/podman/discover.ts';
import { itNeeding } from '../../needs.ts';
import { type FakeEngine, fakeEngine } from '../engine/fake-engine.ts';

let root: string;
let fake: FakeEngine;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'hermetic-podman-discover-'));
  fake = await fakeEngine({});
});
afterEach(async () => {
  await fake[Symbol.asyncDispose]();
  await rm(root, { recursive: true, force: true });
});

const find = (environment: Record<string, string> = {}, podmanHost?: string) =>
  findPodman({ environment: { PATH: join(root, 'bin'), ...environment }, podmanHost, root });

async function linkTo(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await symlink(fake.path, path);
}

it('reports that podman is not installed when there is neither socket nor program', async () => {
  await expect(find()).rejects.toMatchObject({ code: 'backend/not-installed', hint: expect.stringMatching(/apt-get install podman/) });
});

it('reports that podman is not running when only its program is there', async () => {
  await mkdir(join(root, 'bin'));
  await writeFile(join(root, 'bin/podman'), '#!/bin/sh\n', { mode: 0o755 });
  await expect(find()).rejects.toMatchObject({
    code: 'backend/not-running',
    hint: expect.stringMatching(/systemctl --user start podman\.socket.*podman system service/),
  });
});

itNeeding(['another-user'], 'reports missing permission for the socket of another user', async () => {
  await chmod(fake.path, 0o600);
  for (const path of [root, dirname(fake.path)]) await chmod(path, 0o755);
  await linkTo(join(root, 'run/podman/podman.sock'));
  const script = `
    import { findPodman } from ${JSON.stringify(join(import.meta.dirname, '../../../src/backends/podman/discover.ts'))};
    const error = await findPodman(${JSON.stringify({ environment: {}, root })}).catch((error) => error);
    console.log(JSON.stringify({ code: error.code ?? String(error), hint: error.hint }));
  `;
  const args = ['--reuid', '65534', '--regid', '65534', '--clear-groups', process.execPath, '--input-type=module', '-e', script];
  const { stdout } = await promisify(execFile)('setpriv', args);
  expect(JSON.parse(stdout)).toMatchObject({ code: 'backend/not-permitted', hint: expect.stringMatching(/a service of your own/) });
});

it('finds the service of the user before that of root', async () => {
  await linkTo(join(root, 'run/podman/podman.sock'));
  expect((await find()).where).toBe(`unix://${root}/run/podman/podman.sock`);
  await linkTo(join(root, `run/user/${userInfo().uid}/podman/podman.sock`));
  expect((await find()).where).toBe(`unix://${root}/run/user/${userInfo().uid}/podman/podman.sock`);
  await linkTo(join(root, 'xdg/podman/podman.sock'));
  expect((await find({ XDG_RUNTIME_DIR: join(root, 'xdg') })).where).toBe(`unix://${root}/xdg/podman/podman.sock`);
});

it('uses only the service that the configuration or CONTAINER_HOST names', async () => {
  await linkTo(join(root, 'run/podman/podman.sock'));
  expect((await find({ CONTAINER_HOST: `unix://${fake.path}` })).where).toBe(`unix://${fake.path}`);
  const refusal = { code: 'backend/not-running', message: expect.stringMatching(/no other engine is looked for/) };
  await expect(find({}, 'unix:///there/is/none')).rejects.toMatchObject(refusal);
  await expect(find({ CONTAINER_HOST: 'unix:///there/is/none' })).rejects.toMatchObject(refusal);
  await expect(find({ CONTAINER_HOST: 'ssh://me@server/run/podman.sock' })).rejects.toMatchObject({ code: 'backend/unavailable' });
});
