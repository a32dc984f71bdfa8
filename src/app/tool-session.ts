import type { Guard } from '../core/approval.ts';
import type { OpenListener, Sandbox } from '../core/sandbox.ts';
import type { Tool, ToolResult } from '../core/tool.ts';
import type { SandboxRequest } from '../sandboxes/request.ts';
import { singleSandbox } from '../sandboxes/session-sandboxes.ts';
import type { DeliverFile } from '../tools/files/send-file.ts';
import { removeOwnDirectory } from '../tools/own-directory.ts';
import type { CallOptions, Toolbox } from '../tools/toolbox.ts';
import type { App } from './app.ts';
import { type BackgroundListener, sessionTools } from './session-toolbox.ts';

export interface ToolSessionOptions {
  listener: OpenListener;
  deliver?: DeliverFile | undefined;
  /** Told what happens to background processes. */
  background?: BackgroundListener | undefined;
  /** Instead of judging and asking. */
  guard?: Guard | undefined;
}

/** The tools at the sandbox of one session, which is opened by the first call that needs it, and again when it was lost. */
export class ToolSession {
  readonly toolbox: Toolbox;
  readonly sandbox: Sandbox;
  readonly #pooled: ReturnType<typeof singleSandbox>;
  readonly #processes: { close(): Promise<void> };

  constructor(app: App, request: SandboxRequest, { listener, deliver, background, guard }: ToolSessionOptions) {
    this.#pooled = singleSandbox(app.deps, request, listener);
    this.sandbox = this.#pooled;
    const asking = app.approvals.guard({ session: request, open: () => this.#pooled.open() });
    const { toolbox, processes } = sessionTools(app, {
      sandbox: this.#pooled,
      guard: guard ?? asking,
      connections: guard ? undefined : app.approvals.connectionQuestions(asking),
      deliver,
      background,
      finished: (call) => app.approvals.noteCall(request.parts, call),
      connected: (call) => app.approvals.noteCallConnections(request.parts, call),
    });
    this.toolbox = toolbox;
    this.#processes = processes;
  }

  /** The tools, as a model is told of them. */
  get tools(): readonly Tool[] {
    return [...this.toolbox.tools.values()];
  }

  /** Never rejects: a failure is a result. Without an approver in `origin`, an action that needs a person is refused. */
  call(name: string, input: unknown, options?: CallOptions): Promise<ToolResult> {
    return this.toolbox.call(name, input, options);
  }

  /** Closes the sandbox. With `destroy`, nothing of it stays. */
  async close({ destroy = false } = {}): Promise<void> {
    await this.#processes.close();
    if (!destroy || !this.#pooled.wasOpened) return await this.#pooled.end();
    // Of a sandbox that is gone there is nothing to remove.
    await removeOwnDirectory(this.#pooled).catch(() => undefined);
    await this.#pooled.destroy();
  }
}
