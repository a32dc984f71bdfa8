import { describe } from 'vitest';
import { describeBackend } from '../engines.ts';
import { readingAttacks } from './attacks/reading.ts';
import { stateAttacks } from './attacks/states.ts';
import { streamAttacks } from './attacks/streams.ts';
import { treeAttacks } from './attacks/trees.ts';

for (const kind of ['bubblewrap', 'docker']) {
  await describeBackend(kind, (engine) => {
    describe('attacks on the streams', () => streamAttacks(engine));
    describe('attacks on reading and writing', () => readingAttacks(engine));
    describe('attacks on the state', () => stateAttacks(engine));
    describe('attacks on files', () => treeAttacks(engine));
  });
}
