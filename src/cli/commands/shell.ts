import type { Command } from 'commander';
import type { ExecHandle, OpenSandbox, TerminalSize } from '../../core/sandbox.ts';
import { endTree, exitCodeOf } from '../../shell/run.ts';
import { type CliIo, commandOn } from '../io.ts';
import { openSession, type SessionOptions, tracedAppOf, withSessionOptions } from '../session-options.ts';
import { forwardInput, forwardOutput, type Interrupt, interruptSignal, signalNumber } from '../streams.ts';

const explanation = `
At a terminal this is an interactive bash. With piped input the lines are run as they come, and the exit code is the last one's.
What it exports, defines and where it goes carries over to the session's next command.`;

export function shellCommand(io: CliIo): Command {
  return withSessionOptions(commandOn(io, 'shell'))
    .description('open an interactive shell in the sandbox of a session')
    .addHelpText('after', explanation)
    .action(async (options: SessionOptions) => {
      const app = tracedAppOf(io);
      const interrupt = interruptSignal(io);
      const { sandbox, backend } = await openSession(io, app, options, interrupt.signal);
      try {
        const atTerminal = isTerminal(io.stdin) && isTerminal(io.stdout);
        if (atTerminal) io.stderr.write(`hermetic: session ${options.session} on ${backend.kind}; type exit to leave\n`);
        io.setExitCode(await (atTerminal ? interactive : lines)(io, sandbox, interrupt));
      } finally {
        await sandbox.close();
        await app.close();
        interrupt.stop();
      }
    });
}

async function interactive(io: CliIo, sandbox: OpenSandbox, interrupt: Interrupt): Promise<number> {
  const stdin = io.stdin as NodeJS.ReadStream;
  const stdout = io.stdout as NodeJS.WriteStream;
  const size = (): TerminalSize => ({ columns: stdout.columns || 80, rows: stdout.rows || 24 });
  const handle = await sandbox.shell(size());
  const resized = (): void => void handle.resize(size());
  // Every key, Ctrl-C too, is for the shell inside.
  stdin.setRawMode(true);
  stdout.on('resize', resized);
  try {
    return await untilItEnds(io, handle, interrupt);
  } finally {
    stdout.off('resize', resized);
    stdin.setRawMode(false);
  }
}

async function lines(io: CliIo, sandbox: OpenSandbox, interrupt: Interrupt): Promise<number> {
  return await untilItEnds(io, await sandbox.shell(), interrupt);
}

async function untilItEnds(io: CliIo, handle: ExecHandle, { signal, code }: Interrupt): Promise<number> {
  signal.addEventListener('abort', () => void endTree(handle), { once: true });
  void forwardInput(io, handle);
  const forward = forwardOutput(io);
  for await (const chunk of handle.output) await forward(chunk);
  const exit = await handle.exit;
  return signal.aborted ? code() : exitCodeOf(exit, signalNumber);
}

function isTerminal(stream: NodeJS.ReadableStream | NodeJS.WritableStream): boolean {
  return (stream as { isTTY?: boolean }).isTTY === true;
}
