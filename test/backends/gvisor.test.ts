import { describe, expect, it } from 'vitest';
import { findDocker } from '../../src/backends/docker/discover.ts';
import { sandboxContract } from '../contracts/sandbox.ts';
import { describeBackend } from '../engines.ts';
import { startGvisorEngine } from '../gvisor-engine.ts';
import { isRequired } from '../required.ts';

const engine = await startGvisorEngine();
if ('obstacle' in engine) {
  it.skipIf(!isRequired('gvisor'))(`gVisor works on this machine: ${engine.obstacle}`, () => expect.fail(engine.obstacle));
} else {
  await describeBackend(
    'docker',
    (sandboxes) => {
      sandboxContract(sandboxes);
      describe('another kernel', () => {
        it('is seen', () => undefined);
      });
    },
    {
      title: 'docker with gVisor',
      docker: { docker_host: engine.host, docker_runtime: 'runsc' },
      image: process.env.HERMETIC_TEST_IMAGE || 'hermetic-test:base',
      findEngine: () => findDocker({ environment: {}, dockerHost: engine.host }),
      maxBytesAhead: 32 * 1024 * 1024,
    },
  );
}
