import * as z from 'zod';
import { HermeticError } from '../../core/errors.ts';
import type { Tool } from '../../core/tool.ts';
import { guestBash } from '../../lib/guest-files.ts';
import { plainName } from '../../lib/plain-name.ts';
import { askSandbox } from '../../shell/ask-sandbox.ts';
import { defineTool } from '../define-tool.ts';
import { pathSchema } from './file-path.ts';

export interface SentFile {
  /** A plain file name, without any path. */
  name: string;
  data: Buffer;
  caption: string | undefined;
}

/** Sends a file from the sandbox to the chat of the session. Rejects with a sentence when it cannot. */
export type DeliverFile = (file: SentFile, signal: AbortSignal) => Promise<void>;

/** A size that every platform takes. */
const maxBytes = 20 * 1024 * 1024;

const input = z.strictObject({
  path: pathSchema.describe("In the sandbox; relative to the session's directory."),
  name: z.string().min(1).max(255).optional().describe('What to call it; its own name otherwise.'),
  caption: z.string().max(1000).optional().describe('A line to go with it.'),
});

const output = z.object({ name: z.string(), bytes: z.number() });

/** Hands a file to the chat. Its bytes come out of the sandbox; no path a model names is ever opened here. */
export function sendFile(deliver: DeliverFile): Tool {
  return defineTool({
    name: 'send_file',
    title: 'Send a file',
    description: 'Sends a file from the sandbox to the person you talk with. At most 20 MiB.',
    hints: { readOnly: true, destructive: false, idempotent: false, openWorld: true },
    forScripts: false,
    input,
    output,
    prepare: ({ path, name, caption }, session) => ({
      actions: [{ kind: 'send', path, cwd: session.cwd }],
      run: async ({ sandbox, signal }) => {
        const answer = await askSandbox(
          sandbox,
          { command: await guestBash('send-file'), args: [path, String(maxBytes + 1)] },
          { signal, maxBytes: maxBytes + 64 * 1024, timeoutMs: 120_000 },
        );
        if (answer.exit.kind !== 'exited' || answer.exit.code !== 0) {
          throw new HermeticError('tool/failed', `It was not sent: ${answer.stderr || answer.exit.kind}.`);
        }
        if (answer.stdout.length > maxBytes) {
          throw new HermeticError('tool/failed', `It was not sent: it is larger than ${maxBytes / 1024 / 1024} MiB.`, {
            hint: 'Compress or split it.',
          });
        }
        const plain = plainName(name ?? path);
        await deliver({ name: plain, data: answer.stdout, caption }, signal);
        return { name: plain, bytes: answer.stdout.length };
      },
    }),
    render: ({ name, bytes }) => `Sent ${name} (${bytes} bytes).`,
  });
}
