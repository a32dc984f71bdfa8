import { describe } from 'vitest';
import { openStore } from '../../src/stores/index.ts';
import { webLogContract } from '../contracts/web-log.ts';
import { scratchPaths } from './scratch.ts';

const newPath = scratchPaths();

describe('the web log in SQLite', () => {
  webLogContract(() => {
    const path = newPath();
    return { open: () => openStore(path) };
  });
});
