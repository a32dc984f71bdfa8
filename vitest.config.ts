import { configDefaults, defineConfig } from 'vitest/config';
import { LongestFirst } from './test/longest-first.ts';

/** Needs neither an engine nor a process of the program, unless the name says that the file starts processes. */
const unit = 'test/{agent,approval,audit,bash-judge,channels,config,egress,lib,models,stores}/**/*.test.ts';
const startsProcesses = 'test/**/*-processes.test.ts';

const common = {
  pool: 'forks',
  // Files that drive an engine or a process wait for it half of their time, so four keep two cores busy.
  maxWorkers: 4,
  // For a machine that is busy with other things. What waits for a condition gives up before, and says what for (`test/until.ts`).
  testTimeout: 180_000,
  hookTimeout: 240_000,
} as const;

export default defineConfig({
  test: {
    ...common,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: { ...common, name: 'unit', include: [unit], exclude: [...configDefaults.exclude, startsProcesses], isolate: false },
      },
      {
        test: {
          ...common,
          name: 'engine',
          include: [
            'test/*.test.ts',
            `test/!(agent|approval|audit|bash-judge|channels|config|egress|lib|models|stores)/**/*.test.ts`,
            startsProcesses,
          ],
          globalSetup: ['test/build-program.ts'],
        },
      },
    ],
  },
});
