import * as z from 'zod';
import { maxCarriedBytes } from '../../core/channel.ts';
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

/**
 * Sends a file from the sandbox to the chat of the session. Rejects with a sentence when it cannot; `waiting`: it is
 * kept until the chat takes it.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: what only hands a file over has nothing to say of it.
export type DeliverFile = (file: SentFile, signal: AbortSignal) => Promise<'sent' | 'waiting' | void>;

const mebibyte = 1024 * 1024;

const input = z.strictObject({
  path: pathSchema.describe("In the sandbox; relative to the session's directory."),
  name: z.string().min(1).max(255).optional().describe('What to call it; its own name otherwise.'),
  caption: z.string().max(1000).optional().describe('A line to go with it.'),
});

const output = z.object({ name: z.string(), bytes: z.number(), waiting: z.boolean() });

/** Hands a file to the chat. Its bytes come out of the sandbox; no path a model names is ever opened here. */
export function sendFile(deliver: DeliverFile, maxFileBytes = () => maxCarriedBytes): Tool {
  return defineTool({
    name: 'send_file',
    title: 'Send a file',
    description: `Sends a file from the sandbox to the person you talk with. At most ${sizeText(maxCarriedBytes)}, and less where the chat takes less.`,
    hints: { readOnly: true, destructive: false, idempotent: false, openWorld: true },
    forScripts: false,
    input,
    output,
    prepare: ({ path, name, caption }, session) => ({
      actions: [{ kind: 'send', path, cwd: session.cwd }],
      run: async ({ sandbox, signal }) => {
        const maxBytes = Math.min(maxFileBytes(), maxCarriedBytes);
        if (maxBytes === 0) {
          throw new HermeticError('tool/failed', 'It was not sent: this chat takes no files.', { hint: 'Say what is in it.' });
        }
        const answer = await askSandbox(
          sandbox,
          { command: await guestBash('send-file'), args: [path, String(maxBytes + 1)] },
          { signal, maxBytes: maxBytes + 64 * 1024, timeoutMs: 120_000 },
        );
        if (answer.exit.kind !== 'exited' || answer.exit.code !== 0) {
          throw new HermeticError('tool/failed', `It was not sent: ${answer.stderr || answer.exit.kind}.`);
        }
        if (answer.stdout.length > maxBytes) {
          throw new HermeticError('tool/failed', `It was not sent: it is larger than ${sizeText(maxBytes)}, the most this chat takes.`, {
            hint: 'Compress or split it.',
          });
        }
        const plain = plainName(name ?? path);
        const state = await deliver({ name: plain, data: answer.stdout, caption }, signal);
        return { name: plain, bytes: answer.stdout.length, waiting: state === 'waiting' };
      },
    }),
    render: ({ name, bytes, waiting }) =>
      waiting
        ? `${name} (${bytes} bytes) is kept until the chat takes it, which it has not done yet. You are told when it never does.`
        : `Sent ${name} (${bytes} bytes).`,
  });
}

function sizeText(bytes: number): string {
  return bytes < mebibyte ? `${bytes} bytes` : `${Math.floor(bytes / mebibyte)} MiB`;
}
