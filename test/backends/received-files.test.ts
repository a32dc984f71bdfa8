import { mkdtemp, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { receiveFile } from '../../src/backends/received-files.ts';
import { removeTree } from '../../src/backends/sandbox-directory.ts';

it('makes a received file readable inside under a umask of 077', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'hermetic-received-'));
  const before = process.umask(0o077);
  try {
    const name = await receiveFile(directory, 'plan.txt', Buffer.from('all of it'));
    expect((await stat(join(directory, name))).mode & 0o777).toBe(0o444);
  } finally {
    process.umask(before);
    await removeTree(directory);
  }
});
