import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PausableTimer } from '../../src/lib/pausable-timer.ts';

describe('a pausable timer', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  const started = (ms: number) => {
    const timer = new PausableTimer();
    let calls = 0;
    timer.start(ms, () => {
      calls += 1;
    });
    return { timer, calls: () => calls };
  };

  it('fires once after its time', () => {
    const { calls } = started(100);
    vi.advanceTimersByTime(99);
    expect(calls()).toBe(0);
    vi.advanceTimersByTime(1_000);
    expect(calls()).toBe(1);
  });

  it('stands still until the last of its pauses ends', () => {
    const { timer, calls } = started(100);
    vi.advanceTimersByTime(60);
    const [first, second] = [timer.pause(), timer.pause()];
    vi.advanceTimersByTime(1_000);
    first();
    first();
    vi.advanceTimersByTime(1_000);
    expect(calls()).toBe(0);
    second();
    vi.advanceTimersByTime(39);
    expect(calls()).toBe(0);
    vi.advanceTimersByTime(1);
    expect(calls()).toBe(1);
  });

  it('does not run while it was paused before its start', () => {
    const timer = new PausableTimer();
    const resume = timer.pause();
    let calls = 0;
    timer.start(100, () => {
      calls += 1;
    });
    vi.advanceTimersByTime(1_000);
    expect(calls).toBe(0);
    resume();
    vi.advanceTimersByTime(100);
    expect(calls).toBe(1);
  });

  it('never fires after it was stopped', () => {
    const { timer, calls } = started(100);
    const resume = timer.pause();
    timer.stop();
    resume();
    vi.advanceTimersByTime(1_000);
    expect(calls()).toBe(0);
  });
});
