import type { ExecHandle, ExecRequest, OpenSandbox, TerminalSize } from '../core/sandbox.ts';

/** A sandbox that passes everything on to another one, for whoever wants to change a part of that. */
export class SandboxAround implements OpenSandbox {
  protected readonly inner: OpenSandbox;

  constructor(inner: OpenSandbox) {
    this.inner = inner;
  }

  get name(): string {
    return this.inner.name;
  }

  get cwd(): string {
    return this.inner.cwd;
  }

  get definitions(): Readonly<Record<string, string>> {
    return this.inner.definitions;
  }

  get ended(): Promise<string> {
    return this.inner.ended;
  }

  exec(request: ExecRequest): Promise<ExecHandle> {
    return this.inner.exec(request);
  }

  shell(terminal?: TerminalSize): Promise<ExecHandle> {
    return this.inner.shell(terminal);
  }

  readFile(path: string): Promise<Buffer> {
    return this.inner.readFile(path);
  }

  writeFile(path: string, data: Uint8Array | string): Promise<void> {
    return this.inner.writeFile(path, data);
  }

  hasLiveProcesses(): Promise<boolean> {
    return this.inner.hasLiveProcesses();
  }

  killAll(): Promise<void> {
    return this.inner.killAll();
  }

  end(reason: string): Promise<void> {
    return this.inner.end(reason);
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  stop(): Promise<void> {
    return this.inner.stop();
  }

  destroy(): Promise<void> {
    return this.inner.destroy();
  }
}
