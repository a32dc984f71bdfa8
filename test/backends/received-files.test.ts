import { mkdtemp, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { receiveFile } from '../../src/backends/received-files.ts';
import { removeTree } from '../../src/backends/sandbox-directory.ts';

it('a received file can be read by the user inside, whatever the umask of the program', async () => {
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
