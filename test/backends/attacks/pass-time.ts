import { vi } from 'vitest';

/** Waits for what takes much of a clock that runs much faster. */
export async function passTime<T>(action: () => Promise<T>): Promise<T> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const real = setInterval(() => vi.advanceTimersByTime(500), 50);
  try {
    return await action();
  } finally {
    clearInterval(real);
    vi.useRealTimers();
  }
}
