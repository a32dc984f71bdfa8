import { type Command, CommanderError, InvalidArgumentError } from 'commander';
import { HermeticError } from '../core/errors.ts';
import { hermetic } from '../lib/own-command.ts';
import { approvalsCommand } from './commands/approvals.ts';
import { auditCommand } from './commands/audit.ts';
import { chatCommand } from './commands/chat.ts';
import { codeCommand } from './commands/code.ts';
import { configCommand } from './commands/config.ts';
import { doctorCommand } from './commands/doctor.ts';
import { mcpCommand } from './commands/mcp.ts';
import { networkCommand } from './commands/network.ts';
import { pageCommand } from './commands/page.ts';
import { pairingCommand } from './commands/pairing.ts';
import { runCommand } from './commands/run.ts';
import { sandboxCommand } from './commands/sandbox.ts';
import { secretCommand } from './commands/secret.ts';
import { setupCommand } from './commands/setup.ts';
import { shellCommand } from './commands/shell.ts';
import { startCommand } from './commands/start.ts';
import { statusCommand } from './commands/status.ts';
import { exitCodeFor } from './exit-codes.ts';
import { type CliIo, commandOn } from './io.ts';
import { isToldOutputFailure, watchOutput } from './output-failures.ts';
import { refuseFromSession } from './session-guard.ts';
import { version } from './version.ts';

const commands: Readonly<Record<string, (io: CliIo) => Command>> = {
  start: startCommand,
  chat: chatCommand,
  setup: setupCommand,
  run: runCommand,
  code: codeCommand,
  shell: shellCommand,
  mcp: mcpCommand,
  sandbox: sandboxCommand,
  approvals: approvalsCommand,
  pairing: pairingCommand,
  page: pageCommand,
  audit: auditCommand,
  status: statusCommand,
  doctor: doctorCommand,
  network: networkCommand,
  config: configCommand,
  secret: secretCommand,
};

const examples = `
Examples:
  ${hermetic} start                              the gateway: chats, and a page whose address it prints
  ${hermetic} setup                              choose a model, and try its key
  ${hermetic} chat                               the same agent in this terminal
  ${hermetic} run -- 'pip --version; ls'         one command in the default sandbox
  ${hermetic} run --session work -- make test    state and files of a session carry over
  ${hermetic} shell                              a prompt in the sandbox
  ${hermetic} doctor                             what works on this machine, and how to fix what does not

Exit codes: 1 failed, 2 bad usage or configuration, 3 backend unavailable, 4 denied; \`run\` and \`shell\` exit as the command did
(124 timeout, 130 interrupt).`;

export async function main(argv: readonly string[]): Promise<void> {
  const io: CliIo = {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    environment: process.env,
    setExitCode: (code) => {
      process.exitCode = code;
    },
  };
  watchOutput(io);
  try {
    await program(io, argv[0]).parseAsync([...argv], { from: 'user' });
  } catch (error) {
    report(io, error);
  }
}

/** Every command, or only the one that was asked for, on streams that a test can replace. */
export function program(io: CliIo, asked?: string): Command {
  const root = commandOn(io, hermetic)
    .description('An AI agent in your chats, with a sandbox for every session.')
    .version(version())
    .addHelpText('after', examples)
    .showHelpAfterError(`hint: ${hermetic} --help lists the commands`)
    .hook('preAction', async (_, command) => await refuseFromSession(io, command));
  const only = asked !== undefined && Object.hasOwn(commands, asked) ? commands[asked] : undefined;
  for (const make of only ? [only] : Object.values(commands)) root.addCommand(make(io));
  return root;
}

function report(io: CliIo, error: unknown): void {
  if (isToldOutputFailure(error)) return;
  // Those of commander itself are printed; this one comes from an action.
  if (error instanceof InvalidArgumentError) io.stderr.write(`error: ${error.message}\n`);
  if (error instanceof CommanderError) {
    io.setExitCode(error.exitCode === 0 ? 0 : 2);
    return;
  }
  if (error instanceof HermeticError) {
    io.stderr.write(`error: ${error.message}\n${error.hint ? `hint: ${error.hint}\n` : ''}`);
    io.setExitCode(exitCodeFor(error.code));
    return;
  }
  io.stderr.write(`error: ${error instanceof Error ? unexpected(error) : String(error)}\n`);
  io.setExitCode(1);
}

/** Operating-system errors are shown without a stack; anything else is a bug, so show it. */
function unexpected(error: Error & { syscall?: string; errcode?: number }): string {
  const isOfTheMachine = error.syscall !== undefined || error.errcode !== undefined;
  return isOfTheMachine ? `${error.message}.` : (error.stack ?? error.message);
}
