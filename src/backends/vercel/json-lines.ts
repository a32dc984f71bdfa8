import type { IncomingMessage } from 'node:http';
import * as z from 'zod';
import { HermeticError } from '../../core/errors.ts';
import { ByteStore } from '../../lib/byte-store.ts';
import { printable } from '../../lib/printable.ts';
import { senselessError } from './api-errors.ts';

/** Security: a line without an end would be kept forever. */
const maxLineBytes = 8 * 1024 * 1024;
const newline = 0x0a;
const maxQuoted = 500;

const line = z.union([
  z.object({ stream: z.enum(['stdout', 'stderr']), data: z.string() }),
  z.object({ stream: z.literal('error'), data: z.object({ code: z.string(), message: z.string() }) }),
  z.object({ command: z.object({ exitCode: z.number().nullable() }) }),
]);

export type LogLine = Exclude<z.output<typeof line>, { stream: 'error' }>;

/** The lines of an answer as they come, and no faster than they are taken. Rejects when it is cut, and when Vercel says that the stream broke. */
export async function* jsonLines(response: IncomingMessage): AsyncGenerator<LogLine> {
  const rest = new ByteStore(maxLineBytes);
  for await (const chunk of response) {
    if (!rest.push(chunk as Buffer)) throw senselessError(new Error('a line is too long'));
    for (let at = rest.view().indexOf(newline); at !== -1; at = rest.view().indexOf(newline)) {
      const text = rest.view(0, at).toString();
      rest.drop(at + 1);
      if (text.trim() !== '') yield parsed(text);
    }
  }
  if (rest.length > 0) yield parsed(rest.take().toString());
}

function parsed(text: string): LogLine {
  const { data: found, error } = line.safeParse(json(text));
  if (found === undefined) throw senselessError(error);
  if ('stream' in found && found.stream === 'error') {
    throw new HermeticError(
      'sandbox/lost',
      `Vercel ended the stream: ${printable(found.data.message || found.data.code).slice(0, maxQuoted)}`,
    );
  }
  return found as LogLine;
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw senselessError(error);
  }
}
