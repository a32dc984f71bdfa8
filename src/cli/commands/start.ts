import type { Command } from 'commander';
import { gatewaySocket } from '../../app/gateway-process.ts';
import { answeredStatus, type GatewayStatus, gatewayStatus } from '../../app/status/gateway-status.ts';
import { yoloTexts } from '../../app/status/session-status.ts';
import { HermeticError } from '../../core/errors.ts';
import { claimInstance } from '../../lib/instance.ts';
import { hermetic } from '../../lib/own-command.ts';
import { endWithStore } from '../end-with-store.ts';
import { type CliIo, commandOn } from '../io.ts';
import { showLinks } from '../link-notices.ts';
import { alreadyRunning } from '../running-gateway.ts';
import { appOf } from '../session-options.ts';
import { interruptSignal } from '../streams.ts';

const explanation = `
Runs in the foreground until Ctrl-C: connects to the enabled platforms, serves the web page, and answers. Messages that arrive while it is down
are answered at the next start; interrupted turns are resumed, or reported as interrupted.

Where no sandbox backend works, it starts all the same and runs nothing: every command is refused with the reason, and it looks for a backend again
every 30 s.

The link it prints works once, for one browser. Without a model, /run COMMAND and /python CODE work; \`${hermetic} setup\` adds one.`;

export function startCommand(io: CliIo): Command {
  return commandOn(io, 'start')
    .description('run the gateway: an agent in your chats and on a web page')
    .addHelpText('after', explanation)
    .option('--require-sandbox', 'exit with code 3 where no sandbox backend works')
    .action(async (options: StartOptions) => await start(io, options));
}

interface StartOptions {
  requireSandbox?: boolean;
}

async function start(io: CliIo, { requireSandbox = false }: StartOptions): Promise<void> {
  const { GatewayProgram: Program } = await import('../../app/gateway.ts');
  const app = appOf(io);
  const say = (line: string): void => void io.stderr.write(`hermetic: ${line}\n`);
  const interrupt = interruptSignal(io);
  let status = async (): Promise<unknown> => ({ state: 'starting' });
  const instance = await claimInstance(gatewaySocket(app.loaded.home), () => status());
  if (!instance) throw await alreadyRunning(app.loaded.home);
  try {
    endWithStore(io, await app.store());
    const program = await Program.create({ app, isPublic: true, log: say, reload: () => appOf(io).loaded });
    try {
      const found = await gatewayStatus(program);
      if (requireSandbox) refuseWithout(found, say);
      // A taken port must be reported before the status, which says that the gateway runs.
      await program.servePage();
      introduce(found, say);
      if (!interrupt.signal.aborted) {
        const link = await program.start();
        status = () => answeredStatus(program);
        if (link) io.stdout.write(`Open ${link}\n`);
        showLinks(program.channels.values(), io.stderr, interrupt.signal);
        await ended(interrupt.signal);
      }
      say('Shutting down, waiting for running turns.');
    } finally {
      // Before the lock is given up: of two gateways for one home both would answer.
      await program.stop();
    }
  } finally {
    await instance.close();
    interrupt.stop();
  }
}

function refuseWithout({ backend, obstacle, sandboxLines }: GatewayStatus, say: (line: string) => void): void {
  if (backend !== undefined) return;
  for (const line of sandboxLines) say(line);
  throw new HermeticError('backend/unavailable', `Nothing was started. ${obstacle}`, {
    hint: `${hermetic} doctor says what to install. Without --require-sandbox, the gateway starts and runs no commands.`,
  });
}

function introduce(status: GatewayStatus, say: (line: string) => void): void {
  for (const line of status.sandboxLines) say(line);
  if (status.obstacle)
    say('\nWARNING: Nothing can be run. Every command is refused until a sandbox backend works; one is looked for every 30 s.\n');
  if (status.warning) say(`\n${status.warning}\n`);
  tellOf(status, say);
}

function tellOf({ approvals, model, channels, sessions, access }: GatewayStatus, say: (line: string) => void): void {
  for (const line of yoloTexts(sessions, new Date())) say(`YOLO, approvals are off: ${line}`);
  say(`Approvals: ${approvals.mode}, ${approvals.waiting} pending`);
  say(`Model: ${model ?? `none yet; ${hermetic} setup adds one`}`);
  say(`Channels: ${channels.map(({ kind }) => kind).join(', ') || 'none'}`);
  for (const { channel, text, isOpen } of access) say(`${isOpen ? 'WARNING: ' : ''}Who may talk on ${channel}: ${text}`);
}

async function ended(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
