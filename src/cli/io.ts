import { Command } from 'commander';

/** The parts of the process that a command may use, so that a test can stand in for it. */
export interface CliIo {
  stdin: NodeJS.ReadableStream;
  stdout: NodeJS.WritableStream;
  stderr: NodeJS.WritableStream;
  environment: Readonly<Record<string, string | undefined>>;
  setExitCode(code: number): void;
}

/** A command whose help and complaints go to `io`, and which throws instead of ending the process. Its subcommands do the same. */
export function commandOn(io: CliIo, name: string): Command {
  return new Command(name).exitOverride().configureOutput({
    writeOut: (text) => io.stdout.write(text),
    writeErr: (text) => io.stderr.write(text),
  });
}
