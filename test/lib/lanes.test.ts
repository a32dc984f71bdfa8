import { describe, expect, it } from 'vitest';
import { Lane, Lanes } from '../../src/lib/lanes.ts';

describe('Lane', () => {
  it('runs one task at a time, in the order of their arrival', async () => {
    const lane = new Lane();
    const events: string[] = [];
    const first = Promise.withResolvers<void>();
    const task = (name: string, work?: Promise<void>) => async () => {
      events.push(`${name} begins`);
      await work;
      events.push(`${name} ends`);
      return name;
    };
    const results = [lane.run(task('a', first.promise)), lane.run(task('b')), lane.run(task('c'))];
    expect(lane.isIdle).toBe(false);
    first.resolve();
    expect(await Promise.all(results)).toEqual(['a', 'b', 'c']);
    expect(events).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
    expect(lane.isIdle).toBe(true);
  });

  it("passes a task's rejection to its caller, and continues with the next task", async () => {
    const lane = new Lane();
    const fail = (): never => {
      throw new Error('broken');
    };
    const failing = [lane.run(async () => fail()), lane.run(fail)];
    const next = lane.run(() => 'done');
    for (const result of failing) await expect(result).rejects.toThrow('broken');
    await expect(next).resolves.toBe('done');
  });

  it('a lane is idle after tasks that were added meanwhile, too', async () => {
    const lane = new Lane();
    let isDone = false;
    void lane.run(() => {
      void lane.run(async () => {
        isDone = true;
      });
    });
    await lane.idle();
    expect(isDone).toBe(true);
    expect(lane.isIdle).toBe(true);
  });
});

describe('Lanes', () => {
  it('runs tasks of different keys side by side', async () => {
    const lanes = new Lanes<string>();
    const held = Promise.withResolvers<string>();
    const waiting = lanes.run('a', () => held.promise);
    await expect(lanes.run('b', () => 'b')).resolves.toBe('b');
    const behind = lanes.run('a', () => 'behind');
    held.resolve('a');
    expect(await Promise.all([waiting, behind])).toEqual(['a', 'behind']);
  });

  it('idle() resolves when the last task of every key has ended', async () => {
    const lanes = new Lanes<string>();
    const ended: string[] = [];
    for (const key of ['a', 'b', 'a']) void lanes.run(key, () => void ended.push(key));
    await lanes.idle();
    expect(ended.sort()).toEqual(['a', 'a', 'b']);
  });
});
