import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    // Most files drive a real engine, which serves more than two at once no faster.
    maxWorkers: 2,
    // For a machine that is busy with other things. What waits for a condition gives up before, and says what for (`test/until.ts`).
    testTimeout: 180_000,
    hookTimeout: 240_000,
  },
});
