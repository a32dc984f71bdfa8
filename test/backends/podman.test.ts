import { describe, expect, it } from 'vitest';
import { sandboxContract } from '../contracts/sandbox.ts';
import { describeBackend } from '../engines.ts';
import { startPodman } from '../podman-service.ts';
import { isRequired } from '../required.ts';
import { containerTests } from './engine/session-container.ts';

const service = await startPodman();
if (typeof service === 'string') {
  it.skipIf(!isRequired('podman'))(`podman works on this machine: ${service}`, () => expect.fail(service));
} else {
  await describeBackend(
    'podman',
    (engine) => {
      sandboxContract(engine);
      describe('the container of a session', () => containerTests(engine));
    },
    { options: { podman_host: service.host, podman_image: service.image }, image: service.image, findEngine: service.find },
  );
}
