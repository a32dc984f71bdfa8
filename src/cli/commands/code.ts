import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { text } from 'node:stream/consumers';
import { getSystemErrorMessage } from 'node:util';
import { type Command, Option } from 'commander';
import { ToolSession } from '../../app/tool-session.ts';
import { type ErrorCode, HermeticError } from '../../core/errors.ts';
import type { ToolFailure, ToolResult } from '../../core/tool.ts';
import { hermetic } from '../../lib/own-command.ts';
import { cliSession } from '../../sandboxes/request.ts';
import { approverHere } from '../ask.ts';
import { secondsOption } from '../duration-option.ts';
import { type CliIo, commandOn } from '../io.ts';
import { listenerOn, type SessionOptions, tracedAppOf, withSessionOptions } from '../session-options.ts';
import { interruptSignal } from '../streams.ts';

interface CodeOptions extends SessionOptions {
  language?: string;
  timeout?: number;
  ask?: boolean;
}

const languages: Readonly<Record<string, string>> = {
  '.py': 'python',
  '.js': 'javascript',
  '.mjs': 'javascript',
  '.sh': 'bash',
  '.bash': 'bash',
};

const explanation = `
The script runs in the sandbox of the session and can call tools as functions: terminal, read_file, write_file, edit_file, search_files.
Its output is printed; the exit code is the script's (124 after the timeout, 130 after Ctrl-C).

Examples:
  ${hermetic} code count.py
  echo 'print(terminal("ls")["output"])' | ${hermetic} code --language python -`;

export function codeCommand(io: CliIo): Command {
  return withSessionOptions(commandOn(io, 'code'))
    .description('run a script that can call tools, in the sandbox of a session')
    .argument('<file>', 'the script, or - for standard input')
    .addOption(new Option('--language <name>', 'overrides the file name extension').choices([...new Set(Object.values(languages))]))
    .option('--timeout <seconds>', 'end it after this time (default: code_execution.timeout)', secondsOption)
    .option('--ask', 'judge it first, like a script from a model, and ask on this terminal where approval is needed')
    .addHelpText('after', explanation)
    .action(async (file: string, options: CodeOptions) => io.setExitCode(await runCode(io, file, options)));
}

async function runCode(io: CliIo, file: string, { language, timeout, session, ask, ...choice }: CodeOptions): Promise<number> {
  const input = { language: language ?? languageOf(file), code: await codeIn(io, file), ...(timeout !== undefined && { timeout }) };
  const app = tracedAppOf(io);
  const interrupt = interruptSignal(io);
  // A person at their own terminal is not asked about their own code.
  const guard = ask ? undefined : async () => ({ allowed: true }) as const;
  const origin = { source: 'cli', role: 'admin', approver: ask ? approverHere(io) : undefined } as const;
  const tools = new ToolSession(app, { ...cliSession(session), ...choice }, { listener: listenerOn(io), guard });
  try {
    const progress = (printed: string): void => void io.stdout.write(printed);
    const result = await tools.toolbox.call('execute_code', input, { origin, signal: interrupt.signal, progress });
    return interrupt.signal.aborted ? interrupt.code() : exitCode(io, result);
  } finally {
    await tools.close();
    await app.close();
    interrupt.stop();
  }
}

const failures: Readonly<Partial<Record<ToolFailure, ErrorCode>>> = { 'bad-input': 'usage/bad-argument', denied: 'approval/denied' };

function exitCode(io: CliIo, result: ToolResult): number {
  if (!result.ok) throw new HermeticError(failures[result.failure] ?? 'tool/failed', result.text);
  const { status, error, network, exit_code: code } = result.data;
  // A script that fails has said so itself.
  if (typeof error === 'string' && !(typeof code === 'number' && code < 124)) io.stderr.write(`hermetic: ${error}\n`);
  if (typeof network === 'string') io.stderr.write(`hermetic: ${network}\n`);
  if (status === 'timeout') return 124;
  return typeof code === 'number' ? code : 1;
}

function languageOf(file: string): string {
  const language = languages[extname(file)];
  if (language) return language;
  throw new HermeticError('usage/bad-argument', `The language of ${file === '-' ? 'standard input' : file} is unknown.`, {
    hint: 'Name it with --language python, javascript or bash.',
  });
}

async function codeIn(io: CliIo, file: string): Promise<string> {
  if (file === '-') return await text(io.stdin);
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    const { errno } = cause as NodeJS.ErrnoException;
    throw new HermeticError(
      'usage/bad-argument',
      `${file} cannot be read: ${errno === undefined ? cause : getSystemErrorMessage(errno)}.`,
      {
        cause,
      },
    );
  }
}
