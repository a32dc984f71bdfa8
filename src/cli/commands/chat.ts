import { join, resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import type { Command } from 'commander';
import type { App } from '../../app/app.ts';
import type { GatewayProgram } from '../../app/gateway.ts';
import { gatewaySocket } from '../../app/gateway-process.ts';
import type { TerminalChannel, TerminalFiles } from '../../channels/terminal/index.ts';
import type { Screen } from '../../channels/terminal/screen.ts';
import { HermeticError } from '../../core/errors.ts';
import { type SessionId, sessionId } from '../../core/session.ts';
import { settlesWithin } from '../../lib/deadline.ts';
import { claimInstance } from '../../lib/instance.ts';
import { hermetic } from '../../lib/own-command.ts';
import { chatFiles } from '../chat-files.ts';
import { endWithStore } from '../end-with-store.ts';
import { type CliIo, commandOn } from '../io.ts';
import { chatOver, claimOrConnect } from '../joined-chat.ts';
import { personHere } from '../person.ts';
import { appOf } from '../session-options.ts';
import { type Interrupt, interruptSignal } from '../streams.ts';

const explanation = `
In a terminal, type messages for the agent; /help lists the commands. Answer questions with a number, y or n. Ctrl-C stops
the running turn, and leaves when none runs; Ctrl-D and /exit leave. /attach PATH sends a file with your next message.

With piped input every line is a message and waits for the answer to the previous one. Answers go to standard output, everything else to
standard error. The next line answers a question; when there is no next line, the answer is no.

While a gateway runs for this home, this terminal joins it: leaving does not stop the turn, and later answers are shown the next time.

Files from the agent are saved in the --save-to directory, and never overwrite another file.

Examples:
  ${hermetic} chat
  echo '/run uname -a' | ${hermetic} chat
  ${hermetic} chat --session travel`;

interface ChatOptions {
  session: string;
  saveTo?: string;
}

export function chatCommand(io: CliIo): Command {
  return commandOn(io, 'chat')
    .description('chat with the agent in this terminal')
    .option('--session <name>', 'which conversation', 'default')
    .option('--save-to <directory>', 'directory for files from the agent (default: received, in the home)')
    .addHelpText('after', explanation)
    .action(async (options: ChatOptions) => io.setExitCode(await chat(io, options)));
}

async function chat(io: CliIo, options: ChatOptions): Promise<number> {
  const app = appOf(io);
  const interrupt = interruptSignal(io);
  let status = async (): Promise<unknown> => ({ state: 'starting' });
  const claim = () => claimInstance(gatewaySocket(app.loaded.home), () => status());
  const taken = await claimOrConnect(app.loaded.home, claim).catch((error: unknown) => {
    interrupt.stop();
    throw error;
  });
  if (taken.kind === 'connected') {
    const files = filesOf(app.loaded.home, options.saveTo);
    return await chatOver(taken, { screen: await screenOn(io), chat: options.session, files, interrupt }).finally(interrupt.stop);
  }
  const { instance } = taken;
  try {
    const { gatewayStatus } = await import('../../app/status/gateway-status.ts');
    endWithStore(io, await app.store());
    const talk = await Talk.create(io, app, options);
    status = () => gatewayStatus(talk.program);
    return await talk.run(interrupt);
  } finally {
    await instance.close();
    interrupt.stop();
  }
}

/** A conversation at this terminal, with everything it needs. */
class Talk {
  readonly program: GatewayProgram;
  readonly #channel: TerminalChannel;
  readonly #left: Promise<void>;
  readonly #id: SessionId;
  readonly #isLive: boolean;

  static async create(io: CliIo, app: App, { session, saveTo }: ChatOptions): Promise<Talk> {
    const { GatewayProgram } = await import('../../app/gateway.ts');
    const { owner } = await import('../../app/channels.ts');
    const { TerminalChannel } = await import('../../channels/terminal/index.ts');
    const screen = await screenOn(io);
    const { promise: left, resolve: leave } = Promise.withResolvers<void>();
    const person = { id: owner.id, name: personHere() };
    const channel = new TerminalChannel({
      screen,
      person,
      chat: session,
      isSettled: () => program.gateway.isSettled(id),
      interrupt: () => program.gateway.stopTurn(id),
      leave,
      files: filesOf(app.loaded.home, saveTo),
    });
    const id = sessionId({ ...channel.place, user: person.id });
    const program = await GatewayProgram.create({
      app,
      isPublic: false,
      channels: [channel],
      log: (line) => channel.note(line),
      reload: () => appOf(io).loaded,
    });
    return new Talk(program, channel, left, id, screen.isLive);
  }

  private constructor(program: GatewayProgram, channel: TerminalChannel, left: Promise<void>, id: SessionId, isLive: boolean) {
    this.program = program;
    this.#channel = channel;
    this.#left = left;
    this.#id = id;
    this.#isLive = isLive;
  }

  async run({ signal, code }: Interrupt): Promise<number> {
    try {
      await this.#greet();
      const questions = await this.program.approvals.shownAt(this.#channel.place);
      await this.program.start();
      for (const { id, message } of questions) await this.#channel.show(id, message);
      await settlesWithin({ signal }, this.#left);
      // Leaving the chat interrupts its turn.
      await this.program.gateway.stopTurn(this.#id);
      return signal.aborted ? code() : 0;
    } finally {
      await this.program.stop();
    }
  }

  /** Security: without anything to contain commands, nothing starts. */
  async #greet(): Promise<void> {
    const { gatewayStatus } = await import('../../app/status/gateway-status.ts');
    const { backend, obstacle, warning, model } = await gatewayStatus(this.program);
    if (backend === undefined) {
      throw new HermeticError('backend/unavailable', `Nothing was started. ${obstacle}`, {
        hint: `${hermetic} doctor says what to install.`,
      });
    }
    if (warning) this.#channel.note(warning);
    if (!this.#isLive) return;
    this.#channel.note(`Hermetic on ${backend}, model ${model ?? `none yet (${hermetic} setup adds one; /run COMMAND works)`}`);
    this.#channel.note('/help lists the commands. Ctrl-C stops the running turn, Ctrl-D leaves.\n');
  }
}

function filesOf(home: string, saveTo: string | undefined): TerminalFiles {
  return chatFiles(saveTo === undefined ? join(home, 'received') : resolve(saveTo));
}

async function screenOn({ stdin, stdout, stderr, environment }: CliIo): Promise<Screen> {
  const [input, output, notes] = [stdin as Readable, stdout as Writable, stderr as Writable];
  const isTerminal = [stdin, stdout].every((stream) => (stream as { isTTY?: boolean }).isTTY) && environment.TERM !== 'dumb';
  if (isTerminal) {
    const { LiveScreen } = await import('../../channels/terminal/live-screen.ts');
    return new LiveScreen({ input, output });
  }
  const { PlainScreen } = await import('../../channels/terminal/plain-screen.ts');
  return new PlainScreen({ input, output, notes });
}
