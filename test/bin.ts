import { delimiter, join } from 'node:path';
import { inject } from 'vitest';

/** The program that was built for this run (`test/build-program.ts`). The fast lane and scripts build none, and have that of the clone. */
export const bin: string = (process.env.VITEST ? inject('program') : undefined) ?? join(import.meta.dirname, '../bin/hermetic.mjs');

/** A PATH on which the program that was built is `hermetic`, as it is where it was installed. */
export const installedPath: string = [join(bin, '../../on-path'), process.env.PATH].join(delimiter);
