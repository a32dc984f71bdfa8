/** The sandbox layer as a library: put the parts together from a configuration, open a session's sandbox, run commands in it. */
import { App } from './app.ts';
import { loadConfig } from './config/load.ts';

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
export { cliSession, messagingSession, type SandboxRequest } from './sandbox-request.ts';
export { exitCodeOf, type RunEnd, type RunOptions, run } from './tools/run.ts';

export interface CreateOptions {
  /** Where configuration, `HERMETIC_HOME` and the variables to forward come from; usually `process.env`. */
  environment: Readonly<Record<string, string | undefined>>;
  /** What `terminal.cwd: .` and `terminal.docker_mount_cwd_to_workspace` mean. */
  workingDirectory?: string;
}

/** Throws when the configuration is wrong, with everything that is. */
export function createApp({ environment, workingDirectory = process.cwd() }: CreateOptions): App {
  return new App(loadConfig({ environment }), workingDirectory);
}
