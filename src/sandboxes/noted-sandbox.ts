import type { OpenSandbox } from '../core/sandbox.ts';
import { SandboxAround } from './sandbox-wrapper.ts';

/** Tells when somebody has let go of the sandbox or removed it. */
export function noteEnd(sandbox: OpenSandbox, note: (outcome: 'closed' | 'stopped' | 'destroyed') => void): OpenSandbox {
  return new NotedSandbox(sandbox, note);
}

class NotedSandbox extends SandboxAround {
  readonly #note: (outcome: 'closed' | 'stopped' | 'destroyed') => void;

  constructor(inner: OpenSandbox, note: (outcome: 'closed' | 'stopped' | 'destroyed') => void) {
    super(inner);
    this.#note = note;
  }

  override async close(): Promise<void> {
    await super.close();
    this.#note('closed');
  }

  override async stop(): Promise<void> {
    await super.stop();
    this.#note('stopped');
  }

  override async destroy(): Promise<void> {
    await super.destroy();
    this.#note('destroyed');
  }
}
