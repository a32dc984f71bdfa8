import { afterAll } from 'vitest';
import { labelNames } from '../../src/backends/cloud/labels.ts';
import { sandboxContract } from '../contracts/sandbox.ts';
import { describeBackend } from '../engines.ts';
import { FakeDaytona } from '../fakes/daytona/cloud.ts';

const cloud = await FakeDaytona.start();
afterAll(() => cloud.close());

await describeBackend('daytona', sandboxContract, {
  options: { daytona_image: 'test:image' },
  environment: { ...process.env, ...cloud.environment },
  image: 'test:image',
  // What is printed is held by the channel, the gateway and the kernel's sockets between them.
  maxBytesAhead: 32 * 1024 * 1024,
  endFromOutside: async (name) => {
    const sandbox = cloud.left.find(({ wishes }) => wishes.labels?.[labelNames.name] === name);
    await sandbox?.stop(Date.now());
  },
});
