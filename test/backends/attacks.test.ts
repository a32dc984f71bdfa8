import { describe } from 'vitest';
import { describeBackend } from '../engines.ts';
import { controlAttacks } from './attacks/control.ts';
import { diskAttacks } from './attacks/disk.ts';
import { pipeAttacks } from './attacks/pipes.ts';
import { processAttacks } from './attacks/processes.ts';

for (const kind of ['bubblewrap', 'docker']) {
  await describeBackend(kind, (engine) => {
    describe('attacks on the pipes', () => pipeAttacks(engine));
    describe('attacks on the forker', () => controlAttacks(engine));
    describe('attacks on processes', () => processAttacks(engine));
    describe('attacks on the disk', () => diskAttacks(engine, true));
  });
}
