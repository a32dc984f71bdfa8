import type { Brought } from '../core/approval.ts';
import type { ExecHandle, ExecRequest, OpenSandbox, TerminalSize } from '../core/sandbox.ts';

/** Follows a sandbox: its record, its disk limit. */
export interface SandboxHooks {
  /** A command or a shell has started. */
  started?(handle: ExecHandle): void;
  /** It is about to be closed, stopped or destroyed. */
  leaving?(): void;
  left?(outcome: 'closed' | 'stopped' | 'destroyed'): Promise<void>;
}

/** Tells the hooks what happens to a sandbox. Opening adds this one wrapper for the record and the disk limit together. */
export class SandboxWrapper implements OpenSandbox {
  readonly #inner: OpenSandbox;
  readonly #hooks: SandboxHooks[] = [];

  constructor(inner: OpenSandbox) {
    this.#inner = inner;
  }

  add(hooks: SandboxHooks): this {
    this.#hooks.push(hooks);
    return this;
  }

  get name(): string {
    return this.#inner.name;
  }

  get cwd(): string {
    return this.#inner.cwd;
  }

  get definitions(): Readonly<Record<string, string>> {
    return this.#inner.definitions;
  }

  get brought(): readonly Brought[] {
    return this.#inner.brought;
  }

  bring(paths: readonly Brought[]): void {
    this.#inner.bring(paths);
  }

  get ended(): Promise<string> {
    return this.#inner.ended;
  }

  async exec(request: ExecRequest): Promise<ExecHandle> {
    return this.#started(await this.#inner.exec(request));
  }

  async shell(terminal?: TerminalSize): Promise<ExecHandle> {
    return this.#started(await this.#inner.shell(terminal));
  }

  readFile(path: string): Promise<Buffer> {
    return this.#inner.readFile(path);
  }

  writeFile(path: string, data: Uint8Array | string): Promise<void> {
    return this.#inner.writeFile(path, data);
  }

  hasLiveProcesses(): Promise<boolean> {
    return this.#inner.hasLiveProcesses();
  }

  killAll(): Promise<void> {
    return this.#inner.killAll();
  }

  end(reason: string): Promise<void> {
    return this.#inner.end(reason);
  }

  close(): Promise<void> {
    return this.#leave('closed', () => this.#inner.close());
  }

  stop(): Promise<void> {
    return this.#leave('stopped', () => this.#inner.stop());
  }

  destroy(): Promise<void> {
    return this.#leave('destroyed', () => this.#inner.destroy());
  }

  #started(handle: ExecHandle): ExecHandle {
    for (const hooks of this.#hooks) hooks.started?.(handle);
    return handle;
  }

  async #leave(outcome: 'closed' | 'stopped' | 'destroyed', leave: () => Promise<void>): Promise<void> {
    for (const hooks of this.#hooks) hooks.leaving?.();
    await leave();
    for (const hooks of this.#hooks) await hooks.left?.(outcome);
  }
}
