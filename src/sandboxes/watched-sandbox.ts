import type { ExecHandle, ExecRequest, OpenSandbox, TerminalSize } from '../core/sandbox.ts';
import { SandboxAround } from './sandbox-around.ts';

export interface DiskWatch {
  mostBytes: number;
  measure(): Promise<number>;
  notice(text: string): void;
  everyMs?: number;
}

/** How much more a command may write when the limit was passed before it began: enough to clean up. */
const slackBytes = 16 * 1024 * 1024;

/**
 * Where no quota can be set, looks again and again while something runs, and ends what writes beyond the limit. Removing files stays
 * possible, whatever is there already.
 */
export function watchDisk(sandbox: OpenSandbox, watch: DiskWatch): OpenSandbox {
  return new WatchedSandbox(sandbox, watch);
}

class WatchedSandbox extends SandboxAround {
  readonly #watch: DiskWatch;
  readonly #running = new Set<ExecHandle>();
  #timer: NodeJS.Timeout | undefined;
  #allowedBytes: number;

  constructor(sandbox: OpenSandbox, watch: DiskWatch) {
    super(sandbox);
    this.#watch = watch;
    this.#allowedBytes = watch.mostBytes;
  }

  override async exec(request: ExecRequest): Promise<ExecHandle> {
    return this.#follow(await super.exec(request));
  }

  override async shell(terminal?: TerminalSize): Promise<ExecHandle> {
    return this.#follow(await super.shell(terminal));
  }

  #follow(handle: ExecHandle): ExecHandle {
    this.#running.add(handle);
    void handle.exit.then(() => this.#running.delete(handle));
    this.#schedule();
    return handle;
  }

  /** Short commands are not worth a look; whoever starts many of them is caught by the next one that lasts. */
  #schedule(): void {
    this.#timer ??= setTimeout(() => void this.#look(), this.#watch.everyMs ?? 2_000).unref();
  }

  async #look(): Promise<void> {
    const { mostBytes, measure, notice } = this.#watch;
    const bytes = await measure().catch(() => 0);
    this.#timer = undefined;
    if (bytes <= mostBytes) this.#allowedBytes = mostBytes;
    if (bytes > this.#allowedBytes) {
      this.#allowedBytes = bytes + slackBytes;
      notice(
        `The sandbox uses ${megabytes(bytes)} MB of the ${megabytes(mostBytes)} MB it may have: what was running was ended. Remove files to go on.`,
      );
      await Promise.all([...this.#running].map((handle) => handle.kill('KILL')));
    }
    if (this.#running.size > 0) this.#schedule();
  }
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1024 / 1024);
}
