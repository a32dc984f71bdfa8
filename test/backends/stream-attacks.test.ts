import { describe } from 'vitest';
import { describeBackend } from '../engines.ts';
import { startRelay } from '../relay.ts';
import { diskAttacks } from './attacks/disk.ts';
import { frameAttacks } from './attacks/frames.ts';
import { readingAttacks } from './attacks/reading.ts';

const relay = await startRelay('/var/run/docker.sock');

await describeBackend(
  'docker',
  (engine) => {
    describe('attacks on the frames', () => frameAttacks(engine));
    describe('attacks on reading and writing', () => readingAttacks(engine));
    describe('attacks on the disk', () => diskAttacks(engine, false));
  },
  { title: 'docker by streams', docker: { docker_host: relay.host }, maxBytesAhead: 32 * 1024 * 1024 },
);
