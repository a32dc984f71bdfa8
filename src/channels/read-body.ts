import { ByteStore } from '../lib/byte-store.ts';
import { CallError } from './call-error.ts';

/** All bytes of an answer. Rejects as soon as there are more than these, no matter which size the answer declared. */
export async function readBody({ body }: Pick<Response, 'body'>, maxBytes: number): Promise<Buffer> {
  const bytes = new ByteStore(maxBytes);
  for await (const piece of body ?? []) {
    if (!bytes.push(piece)) throw new CallError(`more than ${maxBytes} bytes`, { status: 413 });
  }
  return bytes.take();
}

/** The same for a file, which a platform may refuse to give. */
export async function readFileBody(answer: Response, maxBytes: number): Promise<Buffer> {
  if (answer.ok && answer.body) return await readBody(answer, maxBytes);
  await answer.body?.cancel();
  throw new CallError('the file cannot be had', { status: answer.status });
}
