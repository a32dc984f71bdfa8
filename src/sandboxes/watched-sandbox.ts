import type { ExecHandle, ExecRequest, OpenSandbox, TerminalSize } from '../core/sandbox.ts';
import { SandboxAround } from './sandbox-around.ts';

export interface DiskWatch {
  mostBytes: number;
  measure(): Promise<number>;
  notice(text: string, inChat?: string): void;
  everyMs?: number;
}

/** How much more a command may write when the limit was passed before it began: enough to clean up. */
const slackBytes = 16 * 1024 * 1024;
/** Of so many commands what they left running is ended too. */
const mostRemembered = 32;
/** A look at very many files takes long, and must not be all that is done. */
const restFactor = 10;

/**
 * Where no quota can be set, looks again and again while something runs or grows, and now and then when nothing seems to; ends what
 * writes beyond the limit. Removing files stays possible, whatever is there already.
 */
export function watchDisk(sandbox: OpenSandbox, watch: DiskWatch): OpenSandbox {
  return new WatchedSandbox(sandbox, watch);
}

class WatchedSandbox extends SandboxAround {
  readonly #watch: DiskWatch;
  readonly #everyMs: number;
  /** Commands that run, and the last ones that did: something in the background may still write. */
  readonly #commands = new Set<ExecHandle>();
  readonly #running = new Set<ExecHandle>();
  #timer: NodeJS.Timeout | undefined;
  #due = Number.POSITIVE_INFINITY;
  #looking = false;
  #over = false;
  #bytes = 0;
  #allowedBytes: number;

  constructor(sandbox: OpenSandbox, watch: DiskWatch) {
    super(sandbox);
    this.#watch = watch;
    this.#everyMs = watch.everyMs ?? 2_000;
    this.#allowedBytes = watch.mostBytes;
  }

  override async exec(request: ExecRequest): Promise<ExecHandle> {
    return this.#follow(await super.exec(request));
  }

  override async shell(terminal?: TerminalSize): Promise<ExecHandle> {
    return this.#follow(await super.shell(terminal));
  }

  override async close(): Promise<void> {
    this.#stop();
    await super.close();
  }

  override async stop(): Promise<void> {
    this.#stop();
    await super.stop();
  }

  override async destroy(): Promise<void> {
    this.#stop();
    await super.destroy();
  }

  #stop(): void {
    this.#over = true;
    clearTimeout(this.#timer);
  }

  #follow(handle: ExecHandle): ExecHandle {
    this.#running.add(handle);
    this.#commands.add(handle);
    void handle.exit.then(() => {
      this.#running.delete(handle);
      for (const old of this.#commands) if (this.#commands.size > mostRemembered && !this.#running.has(old)) this.#commands.delete(old);
    });
    this.#schedule(this.#everyMs);
    return handle;
  }

  /** Short commands are not worth a look; whoever starts many of them is caught by the next look all the same. */
  #schedule(afterMs: number): void {
    const due = Date.now() + afterMs;
    if (this.#over || this.#looking || this.#due <= due) return;
    this.#due = due;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#look(), afterMs).unref();
  }

  async #look(): Promise<void> {
    this.#looking = true;
    this.#due = Number.POSITIVE_INFINITY;
    const start = Date.now();
    const bytes = await this.#watch.measure().catch(() => this.#bytes);
    const restMs = (Date.now() - start) * restFactor;
    if (!this.#over) await this.#judge(bytes);
    const isQuiet = this.#running.size === 0 && bytes === this.#bytes;
    this.#bytes = bytes;
    this.#looking = false;
    this.#schedule(Math.max(isQuiet ? this.#everyMs * restFactor : this.#everyMs, restMs));
  }

  async #judge(bytes: number): Promise<void> {
    const { mostBytes, notice } = this.#watch;
    if (bytes <= mostBytes) this.#allowedBytes = mostBytes;
    if (bytes <= this.#allowedBytes) return;
    this.#allowedBytes = bytes + slackBytes;
    const used = `${megabytes(bytes)} MB of the ${megabytes(mostBytes)} MB it may have`;
    const text = `The sandbox uses ${used}: what was running was ended. Remove files to go on.`;
    notice(text, text);
    await Promise.allSettled([...this.#commands].map((handle) => handle.kill('KILL')));
  }
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1024 / 1024);
}
