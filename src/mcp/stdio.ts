import type { Readable, Writable } from 'node:stream';
import type { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio as serve } from '@modelcontextprotocol/server/stdio';

/** The protocol on two streams. Resolves when the other side has gone or the signal comes. */
export async function serveStdio(stdin: Readable, stdout: Writable, makeServer: () => McpServer, signal: AbortSignal): Promise<void> {
  const over = Promise.withResolvers<void>();
  const handle = serve(makeServer, { transport: new StdioServerTransport(stdin, stdout) });
  for (const event of ['end', 'close', 'error']) stdin.once(event, () => over.resolve());
  stdout.once('error', () => over.resolve());
  signal.addEventListener('abort', () => over.resolve(), { once: true });
  if (signal.aborted) over.resolve();
  await over.promise;
  await handle.close();
}
