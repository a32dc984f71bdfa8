import type { ConnectionQuestions } from '../approval/connection-questions.ts';
import type { Guard } from '../core/approval.ts';
import type { BackgroundEvent } from '../core/background.ts';
import type { Sandbox } from '../core/sandbox.ts';
import { type Redact, unredacted } from '../lib/redact.ts';
import type { DeliverFile } from '../tools/files/send-file.ts';
import { toolSet } from '../tools/index.ts';
import { backgroundEvent } from '../tools/process/background-events.ts';
import type { ProcessTable } from '../tools/process/process-table.ts';
import { type CallConnections, type FinishedCall, Toolbox } from '../tools/toolbox.ts';
import type { App } from './app.ts';

export type BackgroundListener = (event: BackgroundEvent) => void | Promise<void>;

export interface ToolboxParts {
  toolbox: Toolbox;
  processes: ProcessTable;
}

export interface SessionToolsOptions {
  sandbox: Sandbox & { open(signal: AbortSignal): Promise<unknown> };
  guard: Guard;
  /** Asks about hosts that no rule of the network names; without it they are blocked. */
  connections?: ConnectionQuestions | undefined;
  deliver?: DeliverFile | undefined;
  /** The largest file that `deliver` takes. */
  maxFileBytes?: (() => number) | undefined;
  finished?: ((call: FinishedCall) => void) | undefined;
  connected?: ((call: CallConnections) => void) | undefined;
  /** Told what happens to background processes; awaited when one starts. */
  background?: BackgroundListener | undefined;
}

/** The tools of a session, with the limits of the configuration. */
export function sessionTools(app: App, options: SessionToolsOptions): ToolboxParts {
  const { sandbox, guard, connections, deliver, maxFileBytes, finished, connected, background } = options;
  const { terminal, code_execution: code, tool_output: output } = app.loaded.config;
  const { tools, processes } = toolSet({
    sandbox,
    terminal: { timeoutSeconds: terminal.timeout, maxTimeoutSeconds: terminal.max_foreground_timeout },
    code: { timeoutSeconds: code.timeout, maxToolCalls: code.max_tool_calls, mode: code.mode },
    deliver,
    maxFileBytes,
  });
  const current = (): Redact => (app.loaded.config.security.redact_secrets ? app.redact : unredacted);
  const redact: Redact = Object.assign((text: string) => current()(text), { begin: () => current().begin() });
  if (background) {
    processes.listen(async (process, event) => {
      // A listener that fails must not end the process table.
      try {
        await background(backgroundEvent(process, event, redact));
      } catch {
        // Listeners report their own failures.
      }
    });
  }
  return {
    toolbox: new Toolbox({
      tools,
      sandbox,
      open: (signal) => sandbox.open(signal),
      guard,
      connections,
      redact,
      maxBytes: output.max_bytes,
      finished,
      connected,
    }),
    processes,
  };
}
