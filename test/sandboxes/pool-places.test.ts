import { afterAll, expect, it } from 'vitest';
import type { OpenListener, OpenSandbox } from '../../src/core/sandbox.ts';
import { type PoolOptions, SandboxPool } from '../../src/sandboxes/pool/pool.ts';
import { SandboxWrapper } from '../../src/sandboxes/sandbox-wrapper.ts';
import { describeBackend } from '../engines.ts';
import { collectGarbage } from '../garbage.ts';
import { until } from '../until.ts';

await describeBackend('bubblewrap', (engine) => {
  const pools: SandboxPool<string>[] = [];
  afterAll(() => Promise.all(pools.map((pool) => pool.stop())));

  /** A pool over real sandboxes that cannot be ended while `isStuck`. */
  function poolOf(wishes: Partial<PoolOptions<string>> = {}) {
    const world = { isStuck: false, isBroken: false, running: new Set<OpenSandbox>(), highest: 0, told: [] as string[], tries: 0 };
    class Stubborn extends SandboxWrapper {
      override async stop(): Promise<void> {
        world.tries += 1;
        if (world.isStuck) throw new Error('the engine does not answer.');
        await super.stop();
        world.running.delete(this);
      }
    }
    const specs = new Map<string, ReturnType<typeof engine.spec>>();
    const listener: OpenListener = { notice: (line) => world.told.push(line), progress: () => undefined };
    const pool = new SandboxPool<string>({
      maxOpen: 1,
      idleMs: 60_000,
      backgroundMs: 0,
      stopAgainEveryMs: 60_000,
      nameOf: (session) => session,
      open: async (session, heard, signal) => {
        if (world.isBroken) throw new Error('no space');
        const spec = specs.get(session) ?? engine.spec();
        specs.set(session, spec);
        const sandbox = new Stubborn(await engine.backend.open(spec, heard, signal));
        for (const other of world.running) if (other.name === sandbox.name) world.running.delete(other);
        world.running.add(sandbox);
        world.highest = Math.max(world.highest, world.running.size);
        const stopAgain = () => sandbox.stop().then(() => true);
        return { sandbox, compare: async () => ({ differs: 'not', env: {} }), stopAgain };
      },
      ...wishes,
    });
    pools.push(pool);
    return { pool, world, of: (session: string) => pool.sandboxOf(session, listener) };
  }

  it('makes a session wait until a sandbox that could not be ended has ended', async () => {
    const { of, world } = poolOf();
    await of('first').open();
    world.isStuck = true;
    let isIn = false;
    const waiting = of('second')
      .open()
      .then(() => {
        isIn = true;
      });
    await until('it waits', () => world.told.some((line) => line.includes('next in the queue')));
    expect(world.told.join()).toContain('The sandbox could not be ended: the engine does not answer.');
    const { tries } = world;
    await until('it was tried again', () => world.tries > tries);
    expect(isIn).toBe(false);
    world.isStuck = false;
    await waiting;
    expect(world.highest).toBe(1);
  });

  it('retries to end a sandbox when no session needs its place', async () => {
    const { of, pool, world } = poolOf({ idleMs: 20, stopAgainEveryMs: 20 });
    world.isStuck = true;
    await of('first').open();
    await until('it was tried again', () => world.tries > 2);
    expect(pool.room).toBe(0);
    world.isStuck = false;
    await until('its place is free', () => pool.room === 1);
    expect(world.running.size).toBe(0);
  });

  it('gives the place of a stuck sandbox back to its own session, and frees it once', async () => {
    const { of, pool, world } = poolOf({ maxOpen: 2 });
    await of('first').open();
    world.isStuck = true;
    await expect(of('first').close()).rejects.toThrow('does not answer');
    expect(pool.room).toBe(1);
    world.isBroken = true;
    await expect(of('first').open()).rejects.toThrow('no space');
    expect(pool.room).toBe(1);
    world.isBroken = false;
    await of('first').open();
    expect(pool.room).toBe(1);
    world.isStuck = false;
    await of('first').close();
    expect(pool.room).toBe(2);
  });

  it('forgets sessions of long ago, and keeps the object of a session in use', async () => {
    const { of } = poolOf();
    const had = of('had');
    const first = new WeakRef(of('first'));
    for (let session = 0; session < 2_000; session++) of(`${session}`);
    await until('the first is forgotten', () => {
      collectGarbage();
      return first.deref() === undefined;
    });
    expect(of('had')).toBe(had);
  });
});
