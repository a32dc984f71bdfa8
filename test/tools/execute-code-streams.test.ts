import { afterAll, describe } from 'vitest';
import { describeBackend } from '../engines.ts';
import { startRelay } from '../relay.ts';
import { bashTests } from './code-bash.ts';
import { endTests } from './code-ends.ts';
import { environmentTests } from './code-environment.ts';
import { pythonTests } from './code-python.ts';

/** The same engine by a port: the way of sandboxes that share nothing with this machine. */
const relay = await startRelay('/var/run/docker.sock');
afterAll(() => relay.close());

await describeBackend(
  'docker',
  (engine) => {
    describe('scripts in Python', () => pythonTests(engine));
    describe('scripts in bash', () => bashTests(engine));
    describe('the environment of a script', () => environmentTests(engine));
    describe('the end of a script', () => endTests(engine));
  },
  { title: 'docker by streams', docker: { docker_host: relay.host }, maxBytesAhead: 32 * 1024 * 1024 },
);
