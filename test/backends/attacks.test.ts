import { describe } from 'vitest';
import { describeBackend } from '../engines.ts';
import { controlAttacks } from './attacks/control.ts';
import { diskAttacks } from './attacks/disk.ts';
import { pipeAttacks } from './attacks/pipes.ts';
import { processAttacks } from './attacks/processes.ts';

for (const kind of ['bubblewrap', 'docker']) {
  await describeBackend(kind, (engine) => {
    describe('the pipes', () => pipeAttacks(engine));
    describe('the forker', () => controlAttacks(engine));
    describe('the processes', () => processAttacks(engine));
    describe('the disk', () => diskAttacks(engine, true));
  });
}
