/** The sandbox layer as a library: put the parts together from a configuration, open a session's sandbox, run commands in it. */
import { App } from './app.ts';
import { loadConfig } from './config/load.ts';
import type { SessionSandboxes } from './session-sandboxes.ts';

export type { App, OpenedSandbox } from './app.ts';
export { type ErrorCode, errorCodes, HermeticError } from './core/errors.ts';
export type {
  Backend,
  Check,
  ExecHandle,
  ExecRequest,
  Exit,
  Isolation,
  KillSignal,
  Limits,
  Mount,
  Network,
  OpenListener,
  OpenSandbox,
  OutputChunk,
  Remains,
  Sandbox,
  SandboxSpec,
  TerminalSize,
  Traits,
  Trouble,
} from './core/sandbox.ts';
export { troubleSentences } from './core/sandbox.ts';
export type { SessionKey } from './core/session.ts';
export type { SandboxEntry } from './core/store.ts';
export { cliSession, messagingSession, type SandboxRequest } from './sandbox-request.ts';
export type { Leftover } from './sandboxes/sweep.ts';
export type { RunRequest, RunResult, SessionName, SessionSandbox, SessionSandboxes } from './session-sandboxes.ts';
export { exitCodeOf, type RunEnd, type RunOptions, run } from './tools/run.ts';

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

/** Throws when the configuration is wrong, with everything that is. */
export function createApp({ environment, workingDirectory = process.cwd() }: CreateOptions): App {
  return new App(loadConfig({ environment }), workingDirectory);
}
