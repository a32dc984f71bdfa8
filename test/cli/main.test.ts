import { describe, expect, it } from 'vitest';
import type { CliIo } from '../../src/cli/io.ts';
import { program } from '../../src/cli/main.ts';

const sink = { write: () => true } as unknown as NodeJS.WritableStream;
const io: CliIo = { stdin: process.stdin, stdout: sink, stderr: sink, environment: {}, setExitCode: () => undefined };

describe('the command line', () => {
  it('builds only the command that was asked for, and every command when none was', () => {
    const names = (asked?: string): string[] => program(io, asked).commands.map((command) => command.name());
    for (const name of names()) expect(names(name)).toEqual([name]);
    expect(names().length).toBeGreaterThan(10);
    for (const asked of ['--help', 'help', 'toString', 'no-such-command']) expect(names(asked)).toEqual(names());
  });
});
