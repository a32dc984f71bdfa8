import type { Readable, Writable } from 'node:stream';
import type { App } from '../app/app.ts';
import { terminalApprover } from '../approval/terminal-approver.ts';
import type { Action, Answer, Approver } from '../core/approval.ts';
import { HermeticError } from '../core/errors.ts';
import type { OpenedSandbox } from '../sandboxes/open.ts';
import { cliSession } from '../sandboxes/request.ts';
import type { ConnectingTool } from '../tools/command-network.ts';
import type { CliIo } from './io.ts';
import { personHere } from './person.ts';

/** While a command runs. */
const typedAheadMs = 700;

/** The person at this terminal; undefined when there is none to ask on. */
export function approverHere(io: CliIo, { isRunning = false } = {}): Approver | undefined {
  const [input, output] = [io.stdin as Readable & { isTTY?: boolean }, io.stderr as Writable & { isTTY?: boolean }];
  if (!input.isTTY || !output.isTTY) return undefined;
  return terminalApprover({ input, output, by: personHere(), typedAheadMs: isRunning ? typedAheadMs : undefined });
}

/** Judges a command that a model wrote. Throws `approval/denied` unless it may run. */
export async function permit(
  io: CliIo,
  app: App,
  session: string,
  opened: OpenedSandbox,
  action: Action,
  signal: AbortSignal,
): Promise<void> {
  const guard = app.approvals.guard({ session: cliSession(session), open: async () => opened });
  const permission = await guard([action], { source: 'cli', role: 'admin', approver: approverHere(io) }, signal);
  if (!permission.allowed) throw new HermeticError('approval/denied', permission.reason);
}

export type Work = () => Promise<Answer | undefined>;

export interface AskingRun {
  session: string;
  ask?: boolean;
  command: string;
  cwd: string;
  signal: AbortSignal;
  /** Keeps what is typed meanwhile from the command. */
  hold(work: Work): Promise<Answer | undefined>;
}

/** Grants count for the connections of a command; with --ask the person at this terminal is asked about others. */
export function networkContext(io: CliIo, app: App, opened: OpenedSandbox, run: AskingRun): ConnectingTool {
  const { command, cwd, signal, hold } = run;
  const session = cliSession(run.session);
  const here = run.ask ? approverHere(io, { isRunning: true }) : undefined;
  const approver: Approver | undefined = here && { ask: (question, until) => hold(() => here.ask(question, until)) };
  const questions = app.approvals.connectionQuestions(app.approvals.guard({ session, open: async () => opened }));
  const call = { command, cwd, signal, origin: { source: 'cli', role: 'admin', approver } as const };
  return {
    signal,
    askToConnect: questions.askerFor(call),
    connected: (connections) => app.approvals.noteConnections({ session: session.parts, command, origin: call.origin, connections }),
  };
}
