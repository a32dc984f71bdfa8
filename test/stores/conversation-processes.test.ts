import { describe } from 'vitest';
import { openStore } from '../../src/stores/index.ts';
import { processContract } from '../contracts/store-processes.ts';
import { start } from './processes.ts';
import { scratchPaths } from './scratch.ts';

const newPath = scratchPaths();

describe('in SQLite', () => {
  processContract(() => {
    const path = newPath();
    return {
      open: () => openStore(path),
      start: (body, args) =>
        start(path, `const args = ${JSON.stringify(args)}; const store = await openStore(path); ${body}; await store.close();`),
    };
  });
});
