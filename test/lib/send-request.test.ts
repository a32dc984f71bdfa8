import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const client = fileURLToPath(new URL('send-request-client.ts', import.meta.url));

it('a request that is aborted just when its answer ends does not end the program', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--conditions=hermetic-source', client]);
  expect(stdout).toBe('firstlast\n');
});
