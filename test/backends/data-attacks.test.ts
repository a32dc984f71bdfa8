import { describe } from 'vitest';
import { describeBackend } from '../engines.ts';
import { readingAttacks } from './attacks/reading.ts';
import { stateAttacks } from './attacks/states.ts';
import { streamAttacks } from './attacks/streams.ts';
import { treeAttacks } from './attacks/trees.ts';

for (const kind of ['bubblewrap', 'docker']) {
  await describeBackend(kind, (engine) => {
    describe('the streams', () => streamAttacks(engine));
    describe('reading and writing', () => readingAttacks(engine));
    describe('the state', () => stateAttacks(engine));
    describe('the files', () => treeAttacks(engine));
  });
}
