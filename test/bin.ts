import { join } from 'node:path';
import { inject } from 'vitest';

/** The program that was built for this run (`test/build-program.ts`). The fast lane builds none, and has that of the clone. */
export const bin: string = inject('program') ?? join(import.meta.dirname, '../bin/hermetic.mjs');
