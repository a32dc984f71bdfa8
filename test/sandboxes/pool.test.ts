import { afterAll, expect, it } from 'vitest';
import type { OpenListener, Sandbox } from '../../src/core/sandbox.ts';
import { type PoolOptions, SandboxPool } from '../../src/sandboxes/pool/pool.ts';
import { ProcessTable } from '../../src/tools/process/process-table.ts';
import { sleepMark } from '../contracts/sandbox/rig.ts';
import { describeBackend, processesWith } from '../engines.ts';
import { callSandbox } from '../tools/call-sandbox.ts';
import { until } from '../until.ts';

async function text(sandbox: Sandbox, command: string): Promise<string> {
  const handle = await sandbox.exec({ command });
  let output = '';
  for await (const { data } of handle.output) output += data.toString();
  const exit = await handle.exit;
  return exit.kind === 'exited' ? output : `${output}[${exit.kind}]`;
}

await describeBackend('bubblewrap', (engine) => {
  const pools: SandboxPool<readonly string[]>[] = [];
  afterAll(() => Promise.all(pools.map((pool) => pool.stop())));

  /** A pool over real sandboxes that writes down what it was told and how often it opened one. */
  function poolOf(wishes: Partial<PoolOptions<readonly string[]>> = {}) {
    const specs = new Map<string, ReturnType<typeof engine.spec>>();
    const told: string[] = [];
    const opened: string[] = [];
    const listener: OpenListener = { notice: (line) => told.push(line), progress: () => undefined };
    let settings = 'one';
    const specOf = (session: readonly string[]) => {
      const key = JSON.stringify(session);
      const spec = specs.get(key) ?? engine.spec();
      specs.set(key, spec);
      return spec;
    };
    const pool = new SandboxPool<readonly string[]>({
      maxOpen: 8,
      idleMs: 60_000,
      backgroundMs: 0,
      tellEveryMs: 0,
      nameOf: (session) => specOf(session).name,
      open: async (session, heard, signal) => {
        opened.push(session.join());
        const made = settings;
        const sandbox = await engine.backend.open(specOf(session), heard, signal);
        const compare = async () => ({ differs: made === settings ? ('not' as const) : ('in more' as const), env: {} });
        return { sandbox, compare, stopAgain: async () => true };
      },
      ...wishes,
    });
    pools.push(pool);
    const change = (): void => {
      settings = 'two';
    };
    return { pool, told, opened, change, of: (...session: string[]) => pool.sandboxOf(session, listener), listener };
  }

  it('opens one sandbox for two simultaneous first commands', async () => {
    const { of, opened } = poolOf();
    expect(await Promise.all([text(of('a'), 'echo 1'), text(of('a'), 'echo 2')])).toEqual(['1\n', '2\n']);
    expect(opened).toEqual(['a']);
  });

  it('closes an idle sandbox, and restores directory, exports and files with the next command', async () => {
    const { of, opened } = poolOf({ idleMs: 50 });
    await text(of('a'), 'mkdir -p deep && cd deep && export SEEN=1 && touch file; alias ll="ls -l"');
    await until('it is closed', () => !of('a').isOpen);
    expect(of('a').cwd).toBe('/workspace/deep');
    expect(Object.keys(of('a').definitions)).toContain('ll');
    expect(await text(of('a'), 'echo $SEEN; ls; pwd')).toBe('1\nfile\n/workspace/deep\n');
    expect(opened).toEqual(['a', 'a']);
  });

  it('keeps a sandbox open while a command runs', async () => {
    const { of, opened } = poolOf({ idleMs: 50 });
    const handle = await of('a').exec({ command: 'read line; echo "got $line"', stdin: 'open' });
    await new Promise((resolve) => setTimeout(resolve, 200));
    await handle.write('word\n');
    let output = '';
    for await (const { data } of handle.output) output += data.toString();
    expect(output).toBe('got word\n');
    expect(opened).toEqual(['a']);
  });

  it('keeps a sandbox open while a background process runs, and closes it afterwards', async () => {
    const { of, opened } = poolOf({ idleMs: 50 });
    const mark = sleepMark();
    await text(of('a'), `setsid sleep ${mark} &`);
    await text(of('clock'), 'true');
    await until('one without a process is closed', () => !of('clock').isOpen);
    expect(of('a').isOpen).toBe(true);
    await until('it runs', () => processesWith(mark).length === 1);
    for (const pid of processesWith(mark)) process.kill(pid, 'SIGKILL');
    await until('it is closed', () => !of('a').isOpen);
    expect(opened).toEqual(['a', 'clock']);
  });

  it('closes a sandbox when its background process exceeds the limit', async () => {
    const { of } = poolOf({ idleMs: 50, backgroundMs: 500 });
    const mark = sleepMark();
    await text(of('a'), `setsid sleep ${mark} &`);
    await until('it is closed', () => !of('a').isOpen && processesWith(mark).length === 0);
  });

  it('closes a sandbox when a tracked process exceeds the limit, and reports the process as lost', async () => {
    const { of } = poolOf({ idleMs: 50, backgroundMs: 500 });
    const mark = sleepMark();
    const process = await new ProcessTable(of('a')).start(callSandbox(of('a')), {
      command: `sleep ${mark}`,
      cwd: undefined,
      terminal: undefined,
      patterns: [],
    });
    expect(process.state.kind).toBe('running');
    await until('it is closed', () => !of('a').isOpen && processesWith(mark).length === 0);
    await process.ended;
    expect(process.state.kind).toBe('lost');
  });

  it('makes a session wait for a background process of another, but only up to its limit', async () => {
    const { of, told } = poolOf({ maxOpen: 1 });
    const mark = sleepMark();
    await text(of('first'), `setsid sleep ${mark} &`);
    const waiting = text(of('second'), 'echo in');
    await until('it waits', () => told.some((line) => line.includes('in the queue')));
    await until('it runs', () => processesWith(mark).length === 1);
    for (const pid of processesWith(mark)) process.kill(pid, 'SIGKILL');
    expect(await waiting).toBe('in\n');

    const capped = poolOf({ maxOpen: 1, backgroundMs: 500 });
    await text(capped.of('first'), `setsid sleep ${mark} &`);
    expect(await text(capped.of('second'), 'echo in')).toBe('in\n');
    expect(processesWith(mark)).toEqual([]);
  });

  it('reports a killed sandbox as lost, makes it again and repeats nothing', async () => {
    const { of, told, opened } = poolOf();
    expect(await text(of('a'), 'echo once >> /workspace/log; kill -9 -1; sleep 60')).toBe('[lost]');
    expect(await text(of('a'), 'cat /workspace/log')).toBe('once\n');
    expect(opened).toEqual(['a', 'a']);
    expect(told.join()).toMatch(/was lost.*not repeated/);
  });

  it('replaces a sandbox after a change of settings between two commands, never during one', async () => {
    const { of, told, opened, change } = poolOf();
    const running = await of('a').exec({ command: 'read line; echo done', stdin: 'open' });
    change();
    expect(await text(of('a'), 'echo beside')).toBe('beside\n');
    expect(opened).toEqual(['a']);
    running.closeStdin();
    await running.exit;
    await text(of('a'), 'true');
    expect(told.join()).toMatch(/replaced/);
  });

  it('closes the longest idle sandbox at the limit, and queues sessions while all are busy', async () => {
    const { of, told } = poolOf({ maxOpen: 1 });
    await text(of('first'), 'export KEPT=1');
    expect(await text(of('second'), 'echo in')).toBe('in\n');
    expect(of('first').isOpen).toBe(false);

    const busy = await of('second').exec({ command: 'read line', stdin: 'open' });
    const waiting = text(of('first'), 'echo $KEPT');
    const behind = text(of('third'), 'echo third');
    await until('both wait', () => told.some((line) => line.includes('number 2')));
    busy.closeStdin();
    expect(await waiting).toBe('1\n');
    expect(await behind).toBe('third\n');
    const places = told.filter((line) => line.includes('in the queue')).map((line) => /session is (.*) in the queue/.exec(line)?.[1]);
    expect(places).toEqual(['next', 'number 2', 'next']);
    expect(told.filter((line) => line.includes('turn'))).toHaveLength(2);
  });

  it('removes an aborted session from the queue', async () => {
    const { of } = poolOf({ maxOpen: 1 });
    const busy = await of('busy').exec({ command: 'read line', stdin: 'open' });
    const controller = new AbortController();
    const waiting = of('other').open(controller.signal);
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    busy.closeStdin();
    await busy.exit;
    expect(await text(of('third'), 'echo in')).toBe('in\n');
  });

  it('opens the sandbox for a command that joined an opening, when the one that began it is aborted', async () => {
    const { of } = poolOf({ maxOpen: 1 });
    const busy = await of('busy').exec({ command: 'read line', stdin: 'open' });
    const controller = new AbortController();
    const first = of('shared').open(controller.signal);
    const second = text(of('shared'), 'echo in');
    controller.abort(new Error('enough'));
    await expect(first).rejects.toThrow('enough');
    busy.closeStdin();
    expect(await second).toBe('in\n');
  });

  it('frees the place of a sandbox that cannot be opened', async () => {
    const failing = poolOf({ maxOpen: 1, open: () => Promise.reject(new Error('no space')) });
    await expect(failing.of('a').open()).rejects.toThrow('no space');
    await expect(failing.of('b').open()).rejects.toThrow('no space');
  });

  it('stops the pool while a session waits for a place', async () => {
    const { of, pool, told } = poolOf({ maxOpen: 1 });
    await pool.adopt([{ name: 'of an earlier program', lastUsedAt: new Date(), stop: async () => false }]);
    const waiting = text(of('a'), 'true').catch((error: Error) => error.message);
    await until('it waits', () => told.length === 1);
    await pool.stop();
    expect(await waiting).toContain('all sandboxes were closed');
  });

  it('ends all sandboxes when the pool stops', async () => {
    const { pool, of } = poolOf();
    const handle = await of('a').exec({ command: 'sleep 60' });
    await pool.stop();
    expect((await handle.exit).kind).not.toBe('exited');
    expect(pool.open).toEqual([]);
  });
});
