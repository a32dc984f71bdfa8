import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { bin } from './bin.ts';

const { heapArguments } = (await import(new URL('../bin/heap-limit.mjs', import.meta.url).href)) as {
  heapArguments(from: { root: string; execArgv: readonly string[]; nodeOptions: string; ownBytes?: number }): string[];
};
const scratch = mkdtempSync(join(tmpdir(), 'hermetic-heap-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const mebibyte = 1024 * 1024;

/** A root directory with these files. */
function tree(files: Record<string, string>): string {
  const root = mkdtempSync(join(scratch, 'root-'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), `${text}\n`);
  }
  return root;
}

/** What Node takes by itself on a machine with 16 GB and more. */
const ownMebibytes = 4288;
const given = (root: string, own = ownMebibytes): string[] =>
  heapArguments({ root, execArgv: [], nodeOptions: '', ownBytes: own * mebibyte });
const limited = (mebibytes: number): string => tree({ 'proc/self/cgroup': '0::/', 'sys/fs/cgroup/memory.max': `${mebibytes * mebibyte}` });

describe('the heap limit', () => {
  it('is a quarter of the memory limit and at least 256 MB', () => {
    expect(given(limited(4096))).toEqual(['--max-old-space-size=1024']);
    expect(given(limited(300))).toEqual(['--max-old-space-size=256']);
  });

  it('follows the smallest memory limit of its own group and those above it', () => {
    const service = 'sys/fs/cgroup/system.slice/hermetic.service';
    const groups = {
      'proc/self/cgroup': '0::/system.slice/hermetic.service',
      [`${service}/memory.max`]: 'max',
      [`${service}/memory.high`]: `${8192 * mebibyte}`,
      'sys/fs/cgroup/system.slice/memory.max': `${4096 * mebibyte}`,
    };
    expect(given(tree(groups))).toEqual(['--max-old-space-size=1024']);
    expect(given(tree({ ...groups, [`${service}/memory.high`]: `${2048 * mebibyte}` }))).toEqual(['--max-old-space-size=512']);
  });

  it('follows the limit of a container, whether its path is its own or that of the host', () => {
    const bytes = `${2048 * mebibyte}`;
    const v1 = { 'proc/self/cgroup': '4:memory:/docker/0123\n0::/', 'sys/fs/cgroup/memory/memory.limit_in_bytes': bytes };
    expect(given(tree(v1))).toEqual(['--max-old-space-size=512']);
    expect(given(tree({ 'proc/self/cgroup': '0::/../..', 'sys/fs/cgroup/memory.max': bytes }))).toEqual(['--max-old-space-size=512']);
  });

  it('is that of Node where no group has a memory limit, or there are no groups', () => {
    const v1 = { 'proc/self/cgroup': '4:memory:/\n1:cpu:/', 'sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712' };
    for (const root of [tree(v1), tree({ 'proc/self/cgroup': '0::/', 'sys/fs/cgroup/memory.max': 'max' }), tree({})])
      expect(given(root)).toEqual([]);
  });

  it('never raises what Node takes by itself', () => {
    for (const mebibytes of [16 * 1024, 64 * 1024, 1024 * 1024]) expect(given(limited(mebibytes)), String(mebibytes)).toEqual([]);
    expect(given(limited(16 * 1024 - 4))).toEqual(['--max-old-space-size=4095']);
    expect(given(limited(4096), 1024)).toEqual([]);
    expect(given(limited(300), 256)).toEqual([]);
  });

  it('is not raised in a process of this Node, whatever the memory limit', () => {
    const heapOf = (words: readonly string[]): number => {
      const { stdout } = spawnSync(process.execPath, [...words, '-p', 'v8.getHeapStatistics().heap_size_limit'], {
        encoding: 'utf8',
        env: {},
      });
      return Number(stdout);
    };
    const own = heapOf([]);
    const asked = [256, 1024, 8 * 1024, 15 * 1024, 16 * 1024 - 4, 16 * 1024, 1024 * 1024].map((mebibytes) =>
      given(limited(mebibytes), own / mebibyte),
    );
    expect(asked.at(-1)).toEqual([]);
    for (const words of asked.filter(({ length }) => length > 0)) expect(heapOf(words), words.join()).toBeLessThanOrEqual(own);
  });

  it.each([
    { execArgv: ['--max-old-space-size=900'] },
    { execArgv: ['--max_old_space_size', '900'] },
    { nodeOptions: '--trace-warnings --max-old-space-size=900' },
    { nodeOptions: '--max-heap-size=900' },
  ])('is left alone when a person has set one: %j', (set) => {
    expect(heapArguments({ root: limited(4096), execArgv: [], nodeOptions: '', ...set })).toEqual([]);
  });

  it('of the program follows the group above its own, in the process that was started', (context) => {
    const group = limitedGroup(2048 * mebibyte);
    if (typeof group === 'string') return context.skip(group);
    const probe = join(scratch, 'probe.mjs');
    writeFileSync(
      probe,
      `import v8 from 'node:v8';
       process.on('exit', () => console.error(process.pid, v8.getHeapStatistics().heap_size_limit / ${mebibyte}));`,
    );
    const run = (...options: string[]) => {
      const script = 'echo $$ >"$1" && echo $$ >&2 && shift && exec "$@"';
      const words = [join(group.inner, 'cgroup.procs'), process.execPath, '--import', probe, ...options, bin, '--version'];
      return spawnSync('bash', ['-c', script, 'bash', ...words], { encoding: 'utf8', env: { PATH: process.env.PATH, HOME: scratch } });
    };
    const [shell, ended] = run().stderr.trim().split('\n');
    const [pid, heap] = ended?.split(' ') ?? [];
    expect(pid).toBe(shell);
    // The young generation comes on top of it.
    expect(Number(heap)).toBeGreaterThanOrEqual(512);
    expect(Number(heap)).toBeLessThanOrEqual(512 + 256);
    expect(Number(run('--max-old-space-size=1500').stderr.trim().split(' ').at(-1))).toBeGreaterThanOrEqual(1500);
  });
});

/** A group without a limit in one that has it, or the reason why there is none. */
function limitedGroup(bytes: number): { inner: string } | string {
  const groups = readFileSync('/proc/self/cgroup', 'utf8');
  const own = /^\d+:memory:(.*)$/m.exec(groups)?.[1];
  const [mount, path, file] =
    own === undefined
      ? ['/sys/fs/cgroup', /^0::(.*)$/m.exec(groups)?.[1] ?? '/', 'memory.max']
      : ['/sys/fs/cgroup/memory', own, 'memory.limit_in_bytes'];
  const outer = join(mount, path, `hermetic-heap-${process.pid}`);
  const inner = join(outer, 'inner');
  try {
    mkdirSync(inner, { recursive: true });
    onTestFinished(() => {
      rmdirSync(inner);
      rmdirSync(outer);
    });
    writeFileSync(join(outer, file), `${bytes}`);
    return { inner };
  } catch (error) {
    return `this user cannot limit the memory of a group: ${(error as Error).message}`;
  }
}
