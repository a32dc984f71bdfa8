import { afterAll } from 'vitest';
import { sandboxContract } from '../contracts/sandbox.ts';
import { describeBackend } from '../engines.ts';
import { endings } from '../fakes/modal/sandbox.ts';
import { FakeModal } from '../fakes/modal/server.ts';

const fake = await FakeModal.start();
afterAll(() => fake.close());

await describeBackend('modal', sandboxContract, {
  environment: { ...fake.environment, PATH: process.env.PATH },
  image: 'test:image',
  maxBytesAhead: 160 * 1024 * 1024,
  endFromOutside: async (name) => {
    for (const one of fake.running) if (one.tags.some(({ tagValue }) => tagValue === name)) one.end(endings.terminated);
  },
});
