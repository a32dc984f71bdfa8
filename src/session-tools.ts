import type { App } from './app.ts';
import type { Guard } from './core/approval.ts';
import type { Sandbox } from './core/sandbox.ts';
import { toolSet } from './tools/index.ts';
import type { ProcessTable } from './tools/process-table.ts';
import type { DeliverFile } from './tools/send-file.ts';
import { type FinishedCall, Toolbox } from './tools/toolbox.ts';

export interface SessionTools {
  toolbox: Toolbox;
  processes: ProcessTable;
}

export interface SessionToolsOptions {
  sandbox: Sandbox;
  ready(signal: AbortSignal): Promise<void>;
  guard: Guard;
  deliver?: DeliverFile | undefined;
  finished?: ((call: FinishedCall) => void) | undefined;
}

/** The tools of a session, with the limits of the configuration. */
export function sessionTools(app: App, { sandbox, ready, guard, deliver, finished }: SessionToolsOptions): SessionTools {
  const { terminal, code_execution: code, tool_output: output } = app.loaded.config;
  const { tools, processes } = toolSet({
    sandbox,
    terminal: { timeoutSeconds: terminal.timeout, mostTimeoutSeconds: terminal.max_foreground_timeout },
    code: { timeoutSeconds: code.timeout, maxToolCalls: code.max_tool_calls, mode: code.mode },
    deliver,
  });
  const redact = (text: string): string => (app.loaded.config.security.redact_secrets ? app.redact(text) : text);
  return { toolbox: new Toolbox({ tools, sandbox, ready, guard, redact, mostBytes: output.max_bytes, finished }), processes };
}
