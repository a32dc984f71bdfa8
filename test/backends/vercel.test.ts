import { afterAll } from 'vitest';
import { sandboxContract } from '../contracts/sandbox.ts';
import { describeBackend } from '../engines.ts';
import { FakeVercel } from '../fakes/vercel/api.ts';

const fake = await FakeVercel.start();
afterAll(() => fake.close());

await describeBackend('vercel', sandboxContract, {
  options: { vercel_api_root: fake.root },
  environment: fake.environment,
  image: 'vercel/sandbox/universal:latest',
  // What is printed is held by the log of the command at its provider, in base64, and by the sockets of the kernel.
  maxBytesAhead: 32 * 1024 * 1024,
  // Those of four streams, which are kept for shells to come.
  spareProcesses: 60,
  endFromOutside: async (name) => await fake.sandboxOf(name).session.stop(),
});
