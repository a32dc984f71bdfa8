import { randomBytes } from 'node:crypto';
import { HermeticError } from '../../core/errors.ts';
import { within } from '../../lib/deadline.ts';
import { shellQuote } from '../../lib/shell-quote.ts';
import { guestScript } from '../../shell/guest-scripts.ts';
import type { Attach } from '../../shell/streams/attached-command.ts';
import { foldedCommand, unfold } from '../../shell/streams/folded-command.ts';
import { type Beat, CommandInputs } from './command-input.ts';
import { CommandOutput } from './command-output.ts';
import type { Machine } from './machine.ts';

const startMs = 30_000;
/** The kernel takes no longer variable. */
const maxWords = 128 * 1024 - 1024;

/** Starts commands on a machine that has no input for them; see `guest/piped-command.bash`. */
export function attachTo(machine: Machine, beat: Beat): Attach {
  const inputs = new CommandInputs(machine, beat);
  return async (command) => {
    const words = (await foldedCommand(command)).map(shellQuote).join(' ');
    if (words.length > maxWords) throw new HermeticError('sandbox/bad-command', 'The command is too long to be started at Vercel.');
    const key = randomBytes(8).toString('hex');
    const env = { __HERMETIC_KEY: key, __HERMETIC_SILENCE: String(beat.silenceSeconds), __HERMETIC_WORDS: words };
    const output = new CommandOutput(machine, await machine.start({ text: await guestScript('pipedCommand'), env }));
    try {
      const pid = await pidOf(output, key);
      const stdin = inputs.open(pid, key);
      const destroy = (): void => {
        if (!output.isOver) inputs.end(pid, key);
        stdin.destroy();
        output.stream.destroy();
      };
      // What is written is not kept by anyone when it cannot be handed over.
      stdin.once('error', (error) => output.stream.destroy(error));
      return unfold({ stdin, stdout: output.stream, ref: () => output.ref(), unref: () => output.unref(), destroy });
    } catch (error) {
      output.stream.destroy();
      throw error;
    }
  };
}

async function pidOf(output: CommandOutput, key: string): Promise<number> {
  const first = await within(startMs, output.first, () => {
    throw new HermeticError('sandbox/open-failed', `A command in the sandbox did not start within ${startMs / 1000} s.`);
  });
  const [, pid] = new RegExp(`^${key} (\\d{1,9})$`).exec(first) ?? [];
  if (pid === undefined) throw new HermeticError('sandbox/open-failed', 'A command in the sandbox did not start as it should.');
  return Number(pid);
}
