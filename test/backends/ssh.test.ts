import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { sandboxContract } from '../contracts/sandbox.ts';
import { describeBackend } from '../engines.ts';
import { describeNeeding } from '../needs.ts';
import { startSshd } from '../sshd.ts';

describeNeeding(['sshd'], 'a machine that is reached by ssh', async () => {
  const sshd = await startSshd();
  afterAll(() => sshd.remove());
  let directory = '';
  await describeBackend(
    'ssh',
    (engine) => {
      directory = join(engine.context.sandboxesDirectory, 'ssh');
      sandboxContract(engine);
    },
    {
      options: sshd.options,
      maxBytesAhead: 16 * 1024 * 1024,
      endFromOutside: async (name) => rmSync(join(directory, name, 'sandbox.json')),
    },
  );
});
