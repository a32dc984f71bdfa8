import { posix } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { HermeticError } from '../../core/errors.ts';
import { limitHitSentences } from '../../core/sandbox.ts';
import { hermetic } from '../../lib/own-command.ts';
import { shellQuote } from '../../lib/shell-quote.ts';
import { cliSession } from '../../sandboxes/request.ts';
import { exitCodeOf, type RunEnd, run } from '../../shell/run.ts';
import { CommandNetwork } from '../../tools/command-network.ts';
import { networkContext, permit, type Work } from '../ask.ts';
import { secondsOption } from '../duration-option.ts';
import { type CliIo, commandOn } from '../io.ts';
import { personHere } from '../person.ts';
import { openSession, type SessionOptions, tracedAppOf, withSessionOptions } from '../session-options.ts';
import { forwardInput, forwardOutput, type HeldInput, interruptSignal, signalNumber } from '../streams.ts';

interface RunOptions extends SessionOptions {
  cwd?: string;
  timeout?: number;
  env?: Record<string, string>;
  ask?: boolean;
}

const explanation = `
One argument is bash source; several are a program and its arguments, passed on exactly.
Output streams, standard input is passed on, and the exit code is the command's: 124 after the timeout, 130 after Ctrl-C.
With --ask the command is judged first, like a command from a model: approval is asked on this terminal, and without a terminal the command is refused
with exit code 4. Where its network is restricted, --ask also asks about hosts that no rule names; otherwise they are blocked.
Exports, functions, aliases and the directory carry over to the session's next command.

Examples:
  ${hermetic} run -- 'cd /tmp && export GREETING=hello'
  ${hermetic} run -- 'echo $GREETING from $PWD'
  ${hermetic} run --session ci --env CI=1 --timeout 60 -- npm test
  tar c . | ${hermetic} run -- 'tar x'`;

export function runCommand(io: CliIo): Command {
  return withSessionOptions(commandOn(io, 'run'))
    .description('run one command in the sandbox of a session')
    .argument('<command...>', 'the command, after --')
    .option('--cwd <directory>', 'where to run, for this command only', directory)
    .option('--timeout <seconds>', 'end it after this time (default: terminal.timeout)', secondsOption)
    .option('--env <NAME=value>', 'set a variable for this command only; may be repeated', variable)
    .option('--ask', 'judge it first, like a command from a model, and ask on this terminal where approval is needed')
    .addHelpText('after', explanation)
    .showHelpAfterError(`hint: the command and its options come after --, as in: ${hermetic} run -- ls -la`)
    .action(async (words: string[], options: RunOptions) => io.setExitCode(await runOnce(io, words, options)));
}

async function runOnce(io: CliIo, words: string[], options: RunOptions): Promise<number> {
  const app = tracedAppOf(io);
  const timeoutSeconds = timeoutFor(options.timeout, app.loaded.config.terminal);
  const [only = '', ...rest] = words;
  const command = rest.length === 0 ? only : words.map(shellQuote).join(' ');
  const interrupt = interruptSignal(io);
  const opened = await openSession(io, app, options, interrupt.signal);
  const { sandbox } = opened;
  const { parts } = cliSession(options.session);
  const env = options.env ?? {};
  const cwd = posix.resolve(sandbox.cwd, options.cwd ?? '');
  const ended = new AbortController();
  let outcome: string | undefined;
  try {
    if (options.ask) {
      const judged = { kind: 'command', command: withVariables(command, env), cwd } as const;
      await permit(io, app, options.session, opened, judged, interrupt.signal);
    }
    outcome = 'failed';
    let input: HeldInput | undefined;
    const signal = AbortSignal.any([interrupt.signal, ended.signal]);
    const asking = { ...options, command, cwd, signal, hold: (work: Work) => input?.hold(work) ?? work() };
    const network = new CommandNetwork(networkContext(io, app, opened, asking));
    const handle = await sandbox.exec({
      command,
      env,
      stdin: 'open',
      ...(options.cwd !== undefined && { cwd }),
      askToConnect: network.ask,
    });
    // Its questions end with it: what it printed before would wait for the answers.
    void handle.exit.then(() => ended.abort());
    input = forwardInput(io, handle);
    const time = { timeoutMs: timeoutSeconds * 1000, clock: network.clock };
    const end = await run(handle, { ...time, signal: interrupt.signal, onOutput: forwardOutput(io, input) });
    outcome = end.kind === 'exited' ? `exited ${end.code}` : end.kind;
    await network.settled();
    for (const hit of await handle.troubles()) io.stderr.write(`hermetic: ${limitHitSentences[hit]}\n`);
    const blocked = await network.sentence(() => handle.connections(), false);
    if (blocked !== undefined) io.stderr.write(`hermetic: ${blocked}\n`);
    if (end.kind === 'interrupted') return interrupt.code();
    explain(io, end);
    return exitCodeOf(end, signalNumber);
  } finally {
    if (outcome !== undefined) app.approvals.noteCommand(parts, personHere(), command, cwd, outcome);
    await sandbox.close();
    await app.close();
    interrupt.stop();
  }
}

/** Security: a variable can make another program of a command, so it is judged with it. */
function withVariables(command: string, env: Record<string, string>): string {
  return [...Object.entries(env).map(([name, value]) => `export ${name}=${shellQuote(value)}`), command].join('\n');
}

function explain(io: CliIo, end: RunEnd): void {
  if (end.kind === 'timeout') io.stderr.write(`hermetic: ended after ${end.afterMs / 1000} s\n`);
  if (end.kind === 'lost')
    throw new HermeticError('sandbox/lost', `The command was lost: ${end.reason}. How it ended is unknown, and it is not repeated.`);
}

function timeoutFor(asked: number | undefined, terminal: { timeout: number; max_foreground_timeout: number }): number {
  const most = terminal.max_foreground_timeout;
  if (asked !== undefined && asked > most) {
    throw new HermeticError('usage/bad-argument', `--timeout ${asked} exceeds terminal.max_foreground_timeout (${most}).`);
  }
  return asked ?? Math.min(terminal.timeout, most);
}

function directory(text: string): string {
  if (text === '') throw new InvalidArgumentError('Expected a directory.');
  return text;
}

function variable(text: string, before: Record<string, string> = {}): Record<string, string> {
  const [, name, value = ''] = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(text) ?? [];
  if (name === undefined) throw new InvalidArgumentError('Expected NAME=value.');
  return { ...before, [name]: value };
}
