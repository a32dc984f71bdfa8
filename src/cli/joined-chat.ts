import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { TerminalFiles } from '../channels/terminal/index.ts';
import { terminalSocket } from '../channels/terminal/protocol.ts';
import type { Screen } from '../channels/terminal/screen.ts';
import { HermeticError } from '../core/errors.ts';
import { within } from '../lib/deadline.ts';
import type { Instance } from '../lib/instance.ts';
import { hermetic } from '../lib/own-command.ts';
import { connectToOwner } from '../lib/owner-socket.ts';
import { personHere } from './person.ts';
import { alreadyRunning, askGateway } from './running-gateway.ts';
import type { Interrupt } from './streams.ts';

interface Connected {
  kind: 'connected';
  socket: Socket;
  model: string | undefined;
}

/** A gateway that starts has so long until it takes terminals. */
const startMs = 120_000;
const lookEveryMs = 100;

/** Makes this process the one that answers for the home, or connects to the gateway that does. */
export async function claimOrConnect(
  home: string,
  claim: () => Promise<Instance | undefined>,
): Promise<{ kind: 'claimed'; instance: Instance } | Connected> {
  const deadline = Date.now() + startMs;
  for (;;) {
    const instance = await claim();
    if (instance) return { kind: 'claimed', instance };
    const gateway = await askGateway(home);
    // Without channels it is still starting.
    if (gateway?.channels) {
      if (!gateway.isPublic) throw await alreadyRunning(home);
      const socket = await connectToOwner(terminalSocket(home)).catch(() => undefined);
      if (socket) return { kind: 'connected', socket, model: gateway.model };
      // It may have ended in between, and then this takes its place.
      if ((await askGateway(home))?.channels) throw takesNoTerminals();
    } else if (Date.now() > deadline) throw await alreadyRunning(home);
    await delay(lookEveryMs);
  }
}

function takesNoTerminals(): HermeticError {
  return new HermeticError('gateway/refused', 'The gateway that runs for this home does not accept terminals.', {
    hint: 'It is an older version: restart it.',
  });
}

interface JoinOptions {
  screen: Screen;
  chat: string;
  files: TerminalFiles;
  interrupt: Interrupt;
}

/** Talks to the agent in the gateway that runs, until the person leaves. Resolves with the exit code. */
export async function chatOver({ socket, model }: Connected, { screen, chat, files, interrupt }: JoinOptions): Promise<number> {
  const { joinGateway } = await import('../channels/terminal/joined.ts');
  const { promise: left, resolve: leave } = Promise.withResolvers<void>();
  const person = { id: 'owner', name: personHere() };
  const joined = await joinGateway(socket, { screen, chat, person, files, leave }, (channel) => {
    if (!screen.isLive) return;
    channel.note(`Joined the running gateway, model ${model ?? `none yet (${hermetic} setup adds one; /run COMMAND works)`}`);
    channel.note('/help lists the commands. Ctrl-C stops the running turn. Ctrl-D leaves; a running turn continues.\n');
  });
  const leftOrGone = Promise.race([left.then(() => 'left' as const), joined.gone.then(() => 'gone' as const)]);
  const end = await within({ signal: interrupt.signal }, leftOrGone, () => 'interrupted' as const);
  // Behind a pipe a signal is the only Ctrl-C there is. At a terminal it means that the terminal goes, and the conversation stays.
  if (end === 'interrupted' && !screen.isLive) await Promise.race([joined.interrupt().catch(() => false), joined.gone]);
  await joined.close();
  if (end === 'gone') {
    throw new HermeticError('gateway/gone', 'The gateway has stopped.', {
      hint: `Your messages are stored and will be answered when the gateway runs again: ${hermetic} start. ${hermetic} chat then shows the answers.`,
    });
  }
  return end === 'left' ? 0 : interrupt.code();
}
