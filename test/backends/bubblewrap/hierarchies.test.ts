import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { findHierarchies, groupObstacle } from '../../../src/backends/namespaces/hierarchies.ts';
import { itNeeding } from '../../needs.ts';
import { until } from '../../until.ts';

const isRoot = process.getuid?.() === 0;
const user = isRoot ? 1234 : (process.getuid?.() ?? 0);
const unified = '30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate';
const version1 = '31 23 0:27 / /sys/fs/cgroup/memory rw shared:5 - cgroup cgroup rw,memory';
const service = 'sys/fs/cgroup/system.slice/hermetic.service';

/** Files in the place of those of a kernel and of systemd. */
describe('control groups of an ordinary user', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'hermetic-hierarchies-'));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  function put(files: Readonly<Record<string, string>>): void {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(root, dirname(path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
  }
  const find = () => findHierarchies([2], { user, root });

  /** Of a unit with `User=` and `Delegate=yes`, in which two processes run. */
  function putService(own = '/system.slice/hermetic.service'): void {
    put({
      'proc/self/mountinfo': `${unified}\n`,
      'proc/self/cgroup': `0::${own}\n`,
      'sys/fs/cgroup/cgroup.controllers': 'cpu memory pids io\n',
      [`${service}/cgroup.controllers`]: 'cpu memory pids\n',
      [`${service}/cgroup.procs`]: '101\n102\n',
    });
    if (isRoot) chownSync(join(root, service), user, user);
  }

  it('are those of the system service that they are, whose processes move into a leaf', async () => {
    putService();
    expect(await find()).toEqual([{ version: 2, base: join(root, service), controllers: ['memory', 'pids', 'cpu'] }]);
    // Each is written by itself; the kernel moves it.
    expect(readFileSync(join(root, service, 'gateway/cgroup.procs'), 'utf8')).toBe('102');
  });

  it('are looked for one after another, so that a process that has gone on to its sandbox is not moved back', async () => {
    putService();
    put({ [`${service}/cgroup.procs`]: '101\n' });
    mkdirSync(join(root, service, 'gateway'));
    const moves = join(root, service, 'gateway/cgroup.procs');
    // A move waits until it is read.
    execFileSync('mkfifo', [moves]);
    const both = Promise.all([find(), find()]);
    await delay(300);
    put({ [`${service}/cgroup.procs`]: '' });
    const reader = openSync(moves, 'r+');
    await both;
    const buffer = Buffer.alloc(100);
    expect(buffer.subarray(0, readSync(reader, buffer)).toString()).toBe('101');
    closeSync(reader);
  });

  it('are not taken where the service has no controllers, and then nothing is moved', async () => {
    putService();
    put({ [`${service}/cgroup.controllers`]: '\n' });
    expect(await find()).toEqual([]);
    expect(existsSync(join(root, service, 'gateway'))).toBe(false);
  });

  it('are found again from the leaf', async () => {
    putService('/system.slice/hermetic.service/gateway');
    expect(await find()).toMatchObject([{ base: join(root, service) }]);
  });

  itNeeding(['root'], 'are not those of a service that were not handed over', async () => {
    putService();
    chownSync(join(root, service), 0, 0);
    expect(await find()).toEqual([]);
    expect(existsSync(join(root, service, 'gateway'))).toBe(false);
    expect(await groupObstacle({ user, root })).toContain('Delegate=yes');
  });

  it.each(['/system.slice/other.scope', '/', `/user.slice/user-${user}.slice/user@${user}.service/app.slice/a.service`])(
    'are those of their login session where they are in %s',
    async (own) => {
      const session = `sys/fs/cgroup/user.slice/user-${user}.slice/user@${user}.service`;
      putService(own);
      put({ [`${session}/cgroup.controllers`]: 'memory pids\n', [`${session}/cgroup.procs`]: '101\n' });
      expect(await find()).toEqual([{ version: 2, base: join(root, session), controllers: ['memory', 'pids'] }]);
      expect(existsSync(join(root, session, 'gateway'))).toBe(false);
    },
  );

  it('are said to be elsewhere where the program was started beside those of its user', async () => {
    const session = `user.slice/user-${user}.slice/user@${user}.service`;
    putService(`/user.slice/user-${user}.slice/session-3.scope`);
    put({ [`sys/fs/cgroup/${session}/cgroup.controllers`]: 'cpu memory pids\n' });
    expect(await groupObstacle({ user, root })).toContain('systemd-run --user --scope');
    put({ 'proc/self/cgroup': `0::/${session}/app.slice/hermetic.service\n` });
    expect(await groupObstacle({ user, root })).toBe('no control group can be used here');
  });

  it('are said to be handed over in part where some controllers are not', async () => {
    putService();
    put({ [`${service}/cgroup.controllers`]: 'memory pids\n' });
    expect(await groupObstacle({ user, root })).toBe('only these controllers are handed to this user: memory, pids');
    expect(existsSync(join(root, service, 'gateway'))).toBe(false);
    put({ 'proc/self/mountinfo': '620 510 0:52 / / rw,relatime - overlay overlay rw\n' });
    expect(await groupObstacle({ user, root })).toBe('no control groups can be seen here');
  });

  it('are none with version 1, which is said', async () => {
    put({ 'proc/self/mountinfo': `${version1}\n`, 'proc/self/cgroup': '4:memory:/\n0::/\n' });
    expect(await findHierarchies([1, 2], { user, root })).toEqual([]);
    expect(await groupObstacle({ user, root })).toContain('version 1, which cannot be handed to an ordinary user');
    expect(await findHierarchies([1, 2], { user: 0, root })).toEqual([
      { version: 1, base: join(root, 'sys/fs/cgroup/memory'), controllers: ['memory'] },
    ]);
  });
});

const mounted = '/sys/fs/cgroup';
const has = existsSync(join(mounted, 'cgroup.controllers')) ? readFileSync(join(mounted, 'cgroup.controllers'), 'utf8') : '';

it.skipIf(!isRoot || !/memory.*pids/.test(has))(
  'a service of an ordinary user puts processes under limits (needs root and control groups of version 2)',
  async () => {
    const name = `hermetic-test-${process.pid}.service`;
    const group = join(mounted, name);
    writeFileSync(join(mounted, 'cgroup.subtree_control'), '+memory +pids');
    mkdirSync(group);
    for (const path of ['', 'cgroup.procs', 'cgroup.subtree_control', 'cgroup.threads']) chownSync(join(group, path), user, user);
    const sources = (file: string) => JSON.stringify(join(import.meta.dirname, '../../../src/backends/namespaces', file));
    const script = `
      process.stdin.once('data', async () => {
        process.setgid(${user});
        process.setuid(${user});
        const { findHierarchies } = await import(${sources('hierarchies.ts')});
        const { makeControlGroups } = await import(${sources('cgroup.ts')});
        const { spawn } = await import('node:child_process');
        const groups = await makeControlGroups('test', 'one', { cpus: 0, memoryMb: 64, diskMb: 0, pids: 8 }, await findHierarchies([2], { user: ${user}, root: '/' }));
        const child = spawn('sleep', ['1000']);
        await groups.add(child.pid);
        console.log(JSON.stringify({ held: [...groups.held.keys()], pid: child.pid }));
        process.stdin.once('data', async () => { await groups.remove(); process.exit(); });
      });`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
    onTestFinished(async () => {
      child.kill('SIGKILL');
      await until('the group is gone', () => {
        try {
          for (const path of ['hermetic/test/one', 'hermetic/test', 'hermetic', 'gateway', ''])
            if (existsSync(join(group, path))) rmdirSync(join(group, path));
        } catch {
          return false;
        }
        return true;
      });
    });
    writeFileSync(join(group, 'cgroup.procs'), String(child.pid));
    child.stdin.write('go\n');
    const [said] = (await once(child.stdout, 'data')) as [Buffer];
    const { held, pid } = JSON.parse(said.toString()) as { held: string[]; pid: number };
    expect(held).toEqual(expect.arrayContaining(['memory', 'pids']));
    expect(readFileSync(`/proc/${pid}/cgroup`, 'utf8')).toContain(`/${name}/hermetic/test/one`);
    expect(readFileSync(join(group, 'hermetic/test/one/memory.max'), 'utf8').trim()).toBe(String(64 * 1024 * 1024));
    expect(readFileSync(`/proc/${child.pid}/cgroup`, 'utf8')).toContain(`/${name}/gateway`);
    const ended = once(child, 'exit');
    child.stdin.write('end\n');
    await ended;
  },
);
