import { HermeticError } from '../../core/errors.ts';
import type { ChatSession } from '../session.ts';
import { CallWaits } from '../turns/call-waits.ts';
import { leftOut, whereFilesAre } from '../turns/incoming-files.ts';
import { inputOf, originOf } from '../turns/input.ts';
import type { AcceptedMessage, RunningTurn } from '../turns/running-turn.ts';
import { StatusLine } from '../turns/status-line.ts';
import { usualSign } from './command.ts';
import { Controls } from './controls.ts';
import { commandIn } from './index.ts';

/** Runs the command in a message, and replies. */
export async function runCommand(session: ChatSession, accepted: AcceptedMessage): Promise<void> {
  const { entry, message, role } = accepted;
  const { place, deps } = session;
  const found = commandIn(message, role);
  if (found.kind !== 'command') return;
  const { command, rest } = found;
  const { commandSign: sign = usualSign } = session.channel.traits;
  const controls = new Controls(session, accepted, originOf(session, [accepted]));
  const brought = command.files === 'sandbox' ? whereFilesAre((await inputOf(session, message)).files) : '';
  const reply = await command.run({ controls, from: message.from, place, role, rest, sign }).catch((error: unknown) => {
    if (error instanceof HermeticError) return `${error.message} ${error.hint ?? ''}`.trim();
    session.logError(error);
    return 'The command failed. See the log of the gateway.';
  });
  const { text, file = undefined } = typeof reply === 'object' ? reply : { text: reply ?? '' };
  const all = brought + text + (command.files === 'none' ? leftOut(message.files, command.name, sign) : '');
  if (all !== '') await deps.outbox.deliver(place, `reply/${entry.seq}`, all.trimStart(), { replyTo: message.id, file });
}

/** The same for a command that takes a turn. */
export async function runCommandTurn(session: ChatSession, turn: RunningTurn, accepted: AcceptedMessage): Promise<void> {
  const { channel, place } = session;
  const line = new StatusLine(session, turn.id);
  const callOf = (run: string): string | undefined => (run.startsWith(`${turn.id}/`) ? run : undefined);
  const waits = new CallWaits(session, turn.id, callOf, (activity) => channel.activity?.(place, activity));
  channel.activity?.(place, { kind: 'turn-started', turn: turn.id });
  try {
    await runCommand(session, accepted);
  } finally {
    waits.end();
    await line.end();
    channel.activity?.(place, { kind: 'turn-ended', turn: turn.id });
  }
}
