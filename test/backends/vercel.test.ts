import { afterAll } from 'vitest';
import { lifecycleContract } from '../contracts/sandbox/lifecycle.ts';
import { describeBackend } from '../engines.ts';
import { FakeVercel } from '../fakes/vercel/api.ts';
import { describeNeeding } from '../needs.ts';

describeNeeding(['machines'], 'a fake of Vercel', async () => {
  const fake = await FakeVercel.start();
  afterAll(() => fake.close());

  // The life of sandboxes: a command costs three calls here, each of which starts processes, so that the whole contract takes many minutes. The rest of it
  // is about shells, which are those of any stream; what carries them is tested in vercel/transport.test.ts.
  await describeBackend('vercel', lifecycleContract, {
    options: { vercel_api_root: fake.root },
    environment: fake.environment,
    image: 'vercel/sandbox/universal:latest',
    // What is printed is held by the log of the command at its provider, in base64, and by the sockets of the kernel.
    maxBytesAhead: 32 * 1024 * 1024,
    isFolded: true,
    // Those of four streams, which are kept for shells to come.
    spareProcesses: 60,
    endFromOutside: async (name) => await fake.sandboxOf(name).session.stop(),
  });
});
