import { randomUUID } from 'node:crypto';
import type { App, OpenedSandbox } from './app.ts';
import { policy } from './approval/policy.ts';
import type { Action, CallOrigin, Circumstances, Finding, Guard, Permission } from './core/approval.ts';
import type { OpenListener, Sandbox } from './core/sandbox.ts';
import type { Tool, ToolResult } from './core/tool.ts';
import type { SandboxRequest } from './sandbox-request.ts';
import { PooledSandbox } from './sandboxes/pool/pooled-sandbox.ts';
import { isDisposable } from './sandboxes/spec-fingerprint.ts';
import { sessionTools } from './session-tools.ts';
import type { DeliverFile } from './tools/send-file.ts';
import type { CallOptions, Toolbox } from './tools/toolbox.ts';

export interface ToolSessionOptions {
  listener: OpenListener;
  deliver?: DeliverFile | undefined;
  /** Instead of judging and asking. */
  guard?: Guard | undefined;
}

/** The tools at the sandbox of one session, which is opened by the first call that needs it, and again when it was lost. */
export class ToolSession {
  readonly toolbox: Toolbox;
  readonly sandbox: Sandbox;
  readonly #app: App;
  readonly #request: SandboxRequest;
  readonly #pooled: PooledSandbox;
  readonly #processes: { close(): Promise<void> };
  #opened: OpenedSandbox | undefined;

  constructor(app: App, request: SandboxRequest, { listener, deliver, guard }: ToolSessionOptions) {
    this.#app = app;
    this.#request = request;
    const open = async (told: OpenListener, signal?: AbortSignal) => {
      const opened = await app.openSandbox(request, told, signal);
      this.#opened = opened;
      return { sandbox: opened.sandbox, isCurrent: () => app.isCurrent(opened, request) };
    };
    const idleMs = app.settings(request.audience).idleSeconds * 1000;
    const ignore = (): void => undefined;
    this.#pooled = new PooledSandbox({ name: app.sandboxName(request.parts), idleMs, open, rested: ignore, closed: ignore }, listener);
    this.sandbox = this.#pooled;
    const { toolbox, processes } = sessionTools(app.loaded, {
      sandbox: this.#pooled,
      ready: (signal) => this.#pooled.open(signal),
      guard: guard ?? this.#guard,
      deliver,
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
    if (destroy && this.#opened) await this.#pooled.destroy();
    else await this.#pooled.end();
  }

  async #whereabouts(): Promise<OpenedSandbox> {
    await this.#pooled.open();
    if (!this.#opened) throw new Error('the sandbox is not open');
    return this.#opened;
  }

  #guard: Guard = async (actions, origin, signal): Promise<Permission> => {
    const opened = await this.#whereabouts();
    const verdicts = actions.map((action) => policy.judge(action, this.#circumstances(opened, origin)));
    const findings = verdicts.flatMap((verdict) => (verdict.kind === 'allow' ? [] : verdict.findings));
    if (verdicts.some(({ kind }) => kind === 'deny')) return refused(findings, 'Nobody can allow this.');
    if (findings.length === 0) return { allowed: true };
    return await this.#ask(actions, findings, opened, origin, signal);
  };

  async #ask(
    actions: readonly Action[],
    findings: readonly Finding[],
    { backend, sandbox }: OpenedSandbox,
    { approver }: CallOrigin,
    signal: AbortSignal,
  ): Promise<Permission> {
    if (!approver) return refused(findings, 'It needs a person to allow it, and there is nobody to ask.');
    const askedAt = new Date();
    const expiresAt = new Date(askedAt.getTime() + this.#app.loaded.config.approvals.timeout * 1000);
    const about = { id: randomUUID(), session: this.#request.title, sandbox: sandbox.name, backend: backend.kind };
    const patience = AbortSignal.any([signal, AbortSignal.timeout(expiresAt.getTime() - Date.now())]);
    const answer = await approver.ask({ ...about, actions, findings, askedAt, expiresAt }, patience);
    if (answer === undefined) return refused(findings, 'Nobody answered in time.');
    if (answer.kind === 'deny') return refused(findings, `It was denied${answer.remark ? `: ${answer.remark}` : '.'}`);
    return { allowed: true };
  }

  #circumstances({ backend, spec, sandbox }: OpenedSandbox, { source, role }: CallOrigin): Circumstances {
    const onHost = backend.traits.isolation === 'none';
    const { home, environment } = this.#app.loaded;
    return {
      disposable: isDisposable(backend.traits, { ...spec, mounts: [] }),
      hostPaths: spec.mounts.filter(({ readOnly }) => !readOnly).map(({ target }) => target),
      source,
      role,
      home: spec.env.HOME ?? (onHost ? (environment.HOME ?? '/root') : '/root'),
      ownPaths: onHost ? [home] : [],
      definitions: sandbox.definitions,
    };
  }
}

function refused(findings: readonly Finding[], why: string): Permission {
  const reasons = findings.map(({ title, why: reason }) => `${title}: ${reason}`);
  return { allowed: false, reason: `It was not run. ${why} ${reasons.join(' ')} Do not try to reach the same end another way.` };
}
