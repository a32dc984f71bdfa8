import { pipeline } from 'node:stream/promises';
import { HermeticError } from '../../core/errors.ts';
import { within } from '../../lib/deadline.ts';
import { errorText } from '../../lib/error-text.ts';
import type { Attach, AttachedCommand } from '../../shell/streams/attached-command.ts';

const copyMs = 30 * 60_000;

/** Copies directories from one sandbox to the same places in another. Security: this program only passes the bytes on. */
export async function copyFiles(from: Attach, to: Attach, directories: readonly string[], signal?: AbortSignal): Promise<void> {
  const names = directories.map((directory) => directory.replace(/^\/+/, ''));
  const source = await from(['tar', '-C', '/', '-cf', '-', '--', ...names]);
  try {
    const target = await to(['tar', '-C', '/', '-xpf', '-']);
    try {
      source.stdin.end();
      const copying = pipeline(source.stdout, target.stdin, ...(signal ? [{ signal }] : []));
      const all = Promise.all([firstLine(source.stderr), firstLine(target.stderr), drain(target.stdout), copying]);
      const complaints = await within({ ms: copyMs, signal }, all, () => {
        signal?.throwIfAborted();
        throw new Error(`it took longer than ${copyMs / 60_000} minutes`);
      });
      await succeeded(source, complaints[0]);
      await succeeded(target, complaints[1]);
    } finally {
      target.destroy();
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw new HermeticError('sandbox/open-failed', `The files of the session could not be copied: ${errorText(error)}`, { cause: error });
  } finally {
    source.destroy();
  }
}

async function succeeded(command: AttachedCommand, complaint: string): Promise<void> {
  const code = await command.exitCode();
  if (code !== 0) throw new Error(complaint || `tar ended with code ${code ?? 'unknown'}`);
}

async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

async function firstLine(stream: AsyncIterable<Buffer>): Promise<string> {
  let text = '';
  for await (const chunk of stream) if (text.length < 1000) text += chunk.toString();
  return text.split('\n')[0] ?? '';
}
