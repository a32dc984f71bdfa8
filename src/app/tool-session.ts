import type { Guard } from '../core/approval.ts';
import type { OpenListener, Sandbox } from '../core/sandbox.ts';
import type { Tool, ToolResult } from '../core/tool.ts';
import { PooledSandbox } from '../sandboxes/pool/pooled-sandbox.ts';
import type { SandboxRequest } from '../sandboxes/request.ts';
import { removeOwnDirectory } from '../tools/own-directory.ts';
import type { DeliverFile } from '../tools/send-file.ts';
import type { CallOptions, Toolbox } from '../tools/toolbox.ts';
import type { App, OpenedSandbox } from './app.ts';
import { type BackgroundListener, sessionTools } from './session-toolbox.ts';

export interface ToolSessionOptions {
  listener: OpenListener;
  deliver?: DeliverFile | undefined;
  /** Told what happens to background processes. */
  background?: BackgroundListener | undefined;
  /** Instead of judging and asking. */
  guard?: Guard | undefined;
  /** A durable name of what asks, such as a turn: after a restart it takes up the questions it had asked. */
  run?: string | undefined;
}

/** The tools at the sandbox of one session, which is opened by the first call that needs it, and again when it was lost. */
export class ToolSession {
  readonly toolbox: Toolbox;
  readonly sandbox: Sandbox;
  readonly #pooled: PooledSandbox;
  readonly #processes: { close(): Promise<void> };
  #opened: OpenedSandbox | undefined;

  constructor(app: App, request: SandboxRequest, { listener, deliver, background, guard, run }: ToolSessionOptions) {
    const open = async (told: OpenListener, signal?: AbortSignal) => {
      const opened = await app.openSandbox(request, told, signal);
      this.#opened = opened;
      return { sandbox: opened.sandbox, compare: app.comparisonOf(opened, request) };
    };
    const { idleSeconds, backgroundSeconds } = app.settings(request.audience);
    const ignore = (): void => undefined;
    const times = { idleMs: idleSeconds * 1000, backgroundMs: backgroundSeconds * 1000 };
    const events = { rested: ignore, closed: ignore, left: ignore };
    this.#pooled = new PooledSandbox({ name: app.sandboxName(request.parts), ...times, open, ...events }, listener);
    this.sandbox = this.#pooled;
    const { toolbox, processes } = sessionTools(app, {
      sandbox: this.#pooled,
      ready: (signal) => this.#pooled.open(signal),
      guard: guard ?? app.approvals.guard({ session: request, opened: () => this.#whereabouts(), run }),
      deliver,
      background,
      finished: (call) => app.approvals.noteCall(request.parts, call),
    });
    this.toolbox = toolbox;
    this.#processes = processes;
  }

  /** What there is to call, as a model is told. */
  get tools(): readonly Tool[] {
    return [...this.toolbox.tools.values()];
  }

  /** Never rejects: whatever goes wrong is a result. Without an approver in `origin`, what needs a person is refused. */
  call(name: string, input: unknown, options?: CallOptions): Promise<ToolResult> {
    return this.toolbox.call(name, input, options);
  }

  /** Lets go of the sandbox. With `destroy`, nothing of it stays. */
  async close({ destroy = false } = {}): Promise<void> {
    await this.#processes.close();
    if (!destroy || !this.#opened) return await this.#pooled.end();
    // Of a sandbox that is gone there is nothing to remove.
    await removeOwnDirectory(this.#pooled).catch(() => undefined);
    await this.#pooled.destroy();
  }

  async #whereabouts(): Promise<OpenedSandbox> {
    await this.#pooled.open();
    if (!this.#opened) throw new Error('the sandbox is not open');
    return this.#opened;
  }
}
