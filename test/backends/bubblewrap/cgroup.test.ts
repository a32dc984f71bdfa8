import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeControlGroups } from '../../../src/backends/namespaces/cgroup.ts';
import { enforcementWith } from '../../../src/backends/namespaces/enforcement.ts';
import { noLimits } from './open.ts';

/** Directories in the place of a kernel's version 2 hierarchy, which few machines with version 1 have as well. */
describe('control groups of version 2', () => {
  let base: string;
  const controllers = ['memory', 'pids', 'cpu'] as const;

  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'hermetic-cgroup-'));
    mkdirSync(join(base, 'hermetic/abc'), { recursive: true });
    for (const level of ['', 'hermetic', 'hermetic/abc']) writeFileSync(join(base, level, 'cgroup.subtree_control'), '');
  });
  afterEach(() => rmSync(base, { recursive: true }));

  const make = (limits: typeof noLimits) => makeControlGroups('abc', 'one', limits, [{ version: 2, base, controllers: [...controllers] }]);
  const written = (file: string): string => readFileSync(join(base, 'hermetic/abc/one', file), 'utf8');

  it('writes the limits into control groups and enables the controllers on every level', async () => {
    const groups = await make({ cpus: 1.5, memoryMb: 256, pids: 64, diskMb: 0 });
    expect(written('memory.max')).toBe(String(256 << 20));
    expect(written('memory.swap.max')).toBe('0');
    expect(written('pids.max')).toBe('66');
    expect(written('cpu.max')).toBe('150000 100000');
    for (const level of ['', 'hermetic', 'hermetic/abc']) expect(existsSync(join(base, level, 'cgroup.subtree_control'))).toBe(true);
    expect(readFileSync(join(base, 'cgroup.subtree_control'), 'utf8')).toBe('+cpu');
    expect([...groups.held.keys()]).toEqual(['memory', 'pids', 'cpu']);
    expect(groups.entrances).toEqual([]);
    expect(enforcementWith(groups.held, 'bubblewrap').memoryMb).toEqual({ enforced: true, how: 'control group version 2 (memory.max)' });
  });

  it('writes no limit where none is asked for', async () => {
    await make(noLimits);
    expect(['memory.max', 'memory.swap.max', 'pids.max', 'cpu.max'].map(written)).toEqual(['max', 'max', 'max', 'max 100000']);
  });

  it('adds a process to its control group and counts its deaths for lack of memory', async () => {
    const groups = await make({ ...noLimits, pids: 10 });
    const child = spawn('cat', { stdio: ['pipe', 'ignore', 'ignore'] });
    await groups.add(child.pid ?? 0);
    child.kill('SIGKILL');
    expect(written('cgroup.procs')).toBe(String(child.pid));
    writeFileSync(join(base, 'hermetic/abc/one/memory.events'), 'low 0\noom 3\noom_kill 2\n');
    expect(groups.counter()()).toMatchObject({ outOfMemoryKills: 2 });
  });

  it('reports a control group as not enforced when the process may not enter it', async () => {
    const groups = await make({ ...noLimits, pids: 10 });
    mkdirSync(join(base, 'hermetic/abc/one/cgroup.procs'));
    await groups.add(1);
    expect(groups.held.size).toBe(0);
    expect(enforcementWith(groups.held, 'bubblewrap').pids.how).toContain('RLIMIT_NPROC');
  });

  it('uses no control group where none can be made', async () => {
    const groups = await makeControlGroups('abc', 'one', noLimits, [{ version: 2, base: '/proc', controllers: [...controllers] }]);
    expect(groups.held.size).toBe(0);
  });
});
