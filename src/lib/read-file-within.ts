import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** Rejects for what is not a file, and for one that is larger. */
export async function readFileWithin(path: string, maxBytes: number): Promise<Buffer> {
  // A pipe without a writer is opened all the same: waiting for it would block other reads.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = await file.stat();
    if (!found.isFile()) throw new Error('it is not a file');
    if (found.size > maxBytes) throw new Error(`it is larger than ${maxBytes} bytes`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}
