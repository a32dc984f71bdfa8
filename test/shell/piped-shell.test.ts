import { closeSync, mkdtempSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { removeTree } from '../../src/backends/sandbox-directory.ts';
import { makePipes, openForLooking, openForWriting, readNow } from '../../src/shell/pipes/named-pipes.ts';
import { type Habits, PipedShell, pipeSuffixes } from '../../src/shell/pipes/piped-shell.ts';

/** What a waiting shell is told on its standard input when so much time has passed without a command. */
async function toldWhileWaiting(habits: Habits): Promise<{ shell: PipedShell; told(): string }> {
  const directory = mkdtempSync(join(tmpdir(), 'hermetic-piped-'));
  onTestFinished(() => removeTree(directory));
  await makePipes(
    directory,
    pipeSuffixes.map((suffix) => `0.${suffix}`),
  );
  const [input, end] = [openForLooking(join(directory, '0.in')), openForWriting(join(directory, '0.end'))];
  const owner = { receive: () => undefined, lost: () => undefined, forget: () => undefined, kill: async () => undefined };
  const shell = new PipedShell(join(directory, '0'), '1', { mode: 'warm', restore: '' }, owner, habits);
  onTestFinished(() => {
    shell.release();
    for (const descriptor of [input, end]) closeSync(descriptor);
  });
  writeSync(end, 'R\n');
  await sleep(150);
  const buffer = Buffer.alloc(4096);
  return { shell, told: () => buffer.toString('utf8', 0, readNow(input, buffer)) };
}

it('a waiting shell prepares for the file tools when one of them has run, and not for commands alone', async () => {
  const habits: Habits = { usesFiles: false };
  const begin = async (script: string): Promise<string> => {
    const { shell, told } = await toldWhileWaiting(habits);
    const before = told();
    shell.begin({ script, sessionDirectory: '/', directory: '', input: 'empty', stateless: false, variables: [], args: [] }, '');
    return before;
  };
  expect(await begin('true')).toBe('');
  expect(await begin('__hermetic_file "$@"')).toBe('');
  expect(await begin('true')).toBe('files\n');
  expect(await begin('true')).toBe('files\n');
});
