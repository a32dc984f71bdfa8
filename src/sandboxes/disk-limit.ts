import type { Backend, DiskUse, ExecHandle, OpenListener, OpenSandbox, SandboxSpec } from '../core/sandbox.ts';
import type { SandboxHooks, SandboxWrapper } from './sandbox-wrapper.ts';

export interface DiskLimitOptions {
  maxBytes: number;
  maxFiles: number;
  measure(): Promise<DiskUse>;
  notice(text: string, inChat?: string): void;
  everyMs?: number;
}

/** Holds a new sandbox to the disk its spec allows, where that is watched. */
export function limitDisk(sandbox: SandboxWrapper, backend: Backend, spec: SandboxSpec, listener: OpenListener): void {
  const allowance = diskAllowance(backend, spec);
  if (!allowance) return;
  const notice = (text: string, inChat?: string): void => listener.notice(text, inChat);
  sandbox.add(new DiskLimit(sandbox, { ...allowance, measure: () => backend.diskUse(spec), notice }));
}

/** The disk that a sandbox may use, where that is watched. */
export function diskAllowance(
  { traits }: Pick<Backend, 'traits'>,
  { limits: { diskMb } }: Pick<SandboxSpec, 'limits'>,
): Pick<DiskLimitOptions, 'maxBytes' | 'maxFiles'> | undefined {
  if (diskMb === 0 || !traits.seesDisk) return undefined;
  // As many files as most file systems have room for beside so many bytes, and enough for a small project.
  return { maxBytes: diskMb * 1024 * 1024, maxFiles: Math.max(diskMb * 64, 10_000) };
}

type Amount = Pick<DiskUse, 'bytes' | 'files'>;

/** How much more a command may write when the limit was passed before it began: enough to clean up. */
const slack: Amount = { bytes: 16 * 1024 * 1024, files: 1_000 };
/** Growth that counts as none: bookkeeping of the file system, and our own files. */
const noise: Amount = { bytes: 1024 * 1024, files: 500 };
/** A look at very many files takes long, and must not be all that is done. */
const restFactor = 10;

/**
 * Where no quota can be set, looks again and again while something runs or grows, and now and then when nothing seems to; kills everything in a
 * sandbox that is beyond the limit, and ends it when it grows on. Removing files always stays possible.
 */
export class DiskLimit implements SandboxHooks {
  readonly #sandbox: OpenSandbox;
  readonly #options: DiskLimitOptions;
  readonly #everyMs: number;
  readonly #max: Amount;
  #running = 0;
  /** Commands that were ever begun. */
  #begun = 0;
  #timer: NodeJS.Timeout | undefined;
  #due = Number.POSITIVE_INFINITY;
  #looking = false;
  #over = false;
  #hasEnded = false;
  #use: DiskUse = { bytes: 0, deletedBytes: 0, files: 0 };
  #allowed: Amount;
  /** The use, and the number of commands begun, when everything was killed; undefined once it is below the limit again. */
  #killed: { left: Amount; begun: number } | undefined;

  constructor(sandbox: OpenSandbox, options: DiskLimitOptions) {
    this.#sandbox = sandbox;
    this.#options = options;
    this.#everyMs = options.everyMs ?? 2_000;
    this.#max = { bytes: options.maxBytes, files: options.maxFiles };
    this.#allowed = this.#max;
    void sandbox.ended.then(() => {
      this.#hasEnded = true;
      this.leaving();
    });
  }

  leaving(): void {
    this.#over = true;
    clearTimeout(this.#timer);
  }

  started(handle: ExecHandle): void {
    this.#begun += 1;
    this.#running += 1;
    void handle.exit.then(() => {
      this.#running -= 1;
    });
    this.#schedule(this.#everyMs);
  }

  /** Short commands are not worth a look; many of them are caught by the next one. */
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
    const use = await this.#measure();
    const restMs = (Date.now() - start) * restFactor;
    // Killing and ending are for the sandbox to do: one that could do neither is looked at again.
    if (!this.#over) await this.#judge(use).catch(() => undefined);
    const isQuiet = this.#running === 0 && !exceeds(use, this.#use) && this.#killed === undefined;
    this.#use = use;
    this.#looking = false;
    this.#schedule(Math.max(isQuiet ? this.#everyMs * restFactor : this.#everyMs, restMs));
  }

  #measure(): Promise<DiskUse> {
    return this.#options.measure().catch(() => this.#use);
  }

  async #judge(use: DiskUse): Promise<void> {
    if (!exceeds(use, this.#max)) {
      this.#allowed = this.#max;
      this.#killed = undefined;
    } else if (this.#killed === undefined) {
      await this.#kill(use);
    } else if (exceeds(use, this.#allowed) || (this.#killed.begun === this.#begun && exceeds(use, plus(this.#killed.left, noise)))) {
      await this.#end(use);
    }
  }

  async #kill(use: DiskUse): Promise<void> {
    await this.#sandbox.killAll();
    if (this.#hasEnded) return this.#say(use, `Its processes could not be killed, so it was ended. ${goOn}`);
    const left = await this.#measure();
    const isFreed = !exceeds(left, this.#max);
    if (!isFreed) {
      this.#killed = { left, begun: this.#begun };
      this.#allowed = plus(left, slack);
    }
    this.#say(use, `Everything that was running in it was ended. ${isFreed ? `Now it uses ${megabytes(left.bytes)} MB.` : goOn}`);
  }

  async #end(use: DiskUse): Promise<void> {
    await this.#sandbox.end('it used more and more disk after everything in it was killed');
    this.#say(use, `It still grew after everything in it was ended, so it was ended itself; the next command gets a new one. ${goOn}`);
  }

  #say(use: DiskUse, outcome: string): void {
    const { maxBytes, maxFiles, notice } = this.#options;
    const deleted =
      use.deletedBytes >= noise.bytes ? `, ${megabytes(use.deletedBytes)} MB of that in deleted files that were still open` : '';
    const excess =
      use.bytes > maxBytes
        ? `The sandbox used ${megabytes(use.bytes)} MB of the ${megabytes(maxBytes)} MB it may have${deleted}.`
        : `The sandbox had ${use.files} files of the ${maxFiles} it may have.`;
    notice(`${excess} ${outcome}`, `${excess} ${outcome}`);
  }
}

const goOn = 'Remove files to go on.';

function exceeds(use: Amount, limit: Amount): boolean {
  return use.bytes > limit.bytes || use.files > limit.files;
}

function plus(one: Amount, other: Amount): Amount {
  return { bytes: one.bytes + other.bytes, files: one.files + other.files };
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1024 / 1024);
}
