/** The sandbox layer as a library: put the parts together from a configuration, open a session's sandbox, run commands in it. */
import { App } from './app/app.ts';
import { ToolSession } from './app/tool-session.ts';
import { loadConfig } from './config/load.ts';
import type { BackgroundEvent } from './core/background.ts';
import { type OpenListener, quiet } from './core/sandbox.ts';
import { namedSession } from './sandboxes/request.ts';
import type { SessionSandboxes } from './sandboxes/session-sandboxes.ts';
import type { DeliverFile } from './tools/files/send-file.ts';

export type { App } from './app/app.ts';
export type { Action, Answer, Approver, CallOrigin, Finding, Question } from './core/approval.ts';
export type { BackgroundEvent } from './core/background.ts';
export type { BlockedConnection, BlockReason, Destination } from './core/egress.ts';
export { type ErrorCode, errorCodes, HermeticError } from './core/errors.ts';
export type {
  Backend,
  Check,
  ExecHandle,
  ExecRequest,
  Exit,
  Isolation,
  KillSignal,
  LimitHit,
  LimitHit as Trouble,
  Limits,
  ListedSandbox,
  ListedSandbox as Remains,
  Mount,
  Network,
  OpenListener,
  OpenSandbox,
  OutputChunk,
  Sandbox,
  SandboxSpec,
  TerminalSize,
  Traits,
} from './core/sandbox.ts';
export { limitHitSentences, limitHitSentences as troubleSentences } from './core/sandbox.ts';
export type { SessionKey } from './core/session.ts';
export type { SandboxEntry } from './core/store.ts';
export type { CallOutcome, Tool, ToolFailure, ToolHints, ToolResult } from './core/tool.ts';
export type { OpenedSandbox } from './sandboxes/open.ts';
export { cliSession, messagingSession, type SandboxRequest } from './sandboxes/request.ts';
export type { RunRequest, RunResult, SessionName, SessionSandbox, SessionSandboxes } from './sandboxes/session-sandboxes.ts';
export type { Leftover } from './sandboxes/sweep.ts';
export { exitCodeOf, type RunEnd, type RunOptions, run } from './shell/run.ts';
export type { DeliverFile, SentFile } from './tools/files/send-file.ts';
export type { CallOptions } from './tools/toolbox.ts';

export interface CreateOptions {
  /** Where configuration, `HERMETIC_HOME` and the variables to forward come from; usually `process.env`. */
  environment: Readonly<Record<string, string | undefined>>;
  /** What `terminal.cwd: .` and `terminal.docker_mount_cwd_to_workspace` mean. */
  workingDirectory?: string;
}

/**
 * A sandbox for every session, for a program of your own:
 *
 *     const sandboxes = createSandboxes({ environment: process.env });
 *     const { stdout, end } = await sandboxes.run('alice', 'pwd && ls');   // opens alice's sandbox when there is none
 *     await sandboxes.of('alice').writeFile('notes.txt', 'kept for the next time');
 *     console.log(await sandboxes.list());
 *     await sandboxes.close();
 *
 * Settings are those of messaging sessions: `gateway.*`, else `terminal.*`. Nothing happens until something is asked of it. Throws when the
 * configuration is wrong, with everything that is.
 */
export function createSandboxes(options: CreateOptions): SessionSandboxes {
  return createApp(options).sandboxes;
}

export interface CreateToolboxOptions extends CreateOptions {
  /** A name of your own; the same as for `createSandboxes`. */
  session: string;
  /** What happens to the sandbox that you should know. */
  listener?: OpenListener;
  /** Where files go that the model sends. Without it there is no tool for that. */
  deliver?: DeliverFile;
  /** What happens to processes in the background: that one started, printed a text of `notify_on`, or ended. */
  onBackground?: (event: BackgroundEvent) => void;
}

/** The tools of one session, and what lets go of its sandbox. */
export type SessionToolbox = Pick<ToolSession, 'tools' | 'call'> & { close(): Promise<void> };

/**
 * The tools of one session, for an agent of your own:
 *
 *     const toolbox = createToolbox({ environment: process.env, session: 'alice' });
 *     for (const { name, description, input } of toolbox.tools) offerToModel(name, description, z.toJSONSchema(input));
 *     const { text } = await toolbox.call('terminal', { command: 'ls' });
 *     await toolbox.close();
 *
 * A call never rejects. What needs a person to allow it is refused, unless the call's `origin` has somebody to ask.
 */
export function createToolbox({ session, listener, deliver, onBackground, ...options }: CreateToolboxOptions): SessionToolbox {
  const app = createApp(options);
  const tools = new ToolSession(app, namedSession(session), { listener: listener ?? quiet, deliver, background: onBackground });
  return {
    tools: tools.tools,
    call: (name, input, callOptions) => tools.call(name, input, callOptions),
    close: async () => {
      await tools.close();
      await app.close();
    },
  };
}

/** Throws when the configuration is wrong, with everything that is. */
export function createApp({ environment, workingDirectory = process.cwd() }: CreateOptions): App {
  return new App(loadConfig({ environment }), workingDirectory);
}
