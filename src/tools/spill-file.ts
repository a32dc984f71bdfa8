import { randomBytes } from 'node:crypto';
import type { ExecHandle, Sandbox } from '../core/sandbox.ts';
import { within } from '../lib/deadline.ts';
import { guestBash } from '../lib/guest-files.ts';

/** Output beyond this is dropped. */
const maxBytes = 64 * 1024 * 1024;
const maxFiles = 20;
/** The writer inside may be blocked, and must not hold up the command. */
const deadlineMs = 10_000;

/** A file in the sandbox for output that is too long for the result. */
export class SpillFile {
  /** Where it is; undefined when it could not be written. */
  readonly path: Promise<string | undefined>;
  /** Whether it has everything that was written to it. */
  isWhole = true;
  readonly #handle: ExecHandle;
  #bytes = 0;
  #failed = false;

  static async open(sandbox: Pick<Sandbox, 'name' | 'exec'>): Promise<SpillFile> {
    const args = [sandbox.name, `${randomBytes(6).toString('hex')}.txt`, String(maxFiles)];
    const command = await guestBash('own-directory', 'spill-file');
    return new SpillFile(await sandbox.exec({ command, args, stdin: 'open', plain: true, cwd: '/' }));
  }

  private constructor(handle: ExecHandle) {
    this.#handle = handle;
    this.path = this.#listen();
  }

  async #listen(): Promise<string | undefined> {
    let printed = '';
    for await (const { stream, data } of this.#handle.output) if (stream === 'stdout' && printed.length < 8192) printed += data.toString();
    const exit = await this.#handle.exit;
    this.#failed ||= exit.kind !== 'exited' || exit.code !== 0;
    this.isWhole &&= !this.#failed;
    return this.#failed ? undefined : printed.trimEnd();
  }

  /** Resolves when it is sensible to write more. */
  async write(data: Uint8Array): Promise<void> {
    if (this.#failed) return;
    const room = maxBytes - this.#bytes;
    this.#bytes += data.length;
    if (data.length > room) this.isWhole = false;
    if (room <= 0) return;
    await this.#inTime(this.#handle.write(data.subarray(0, room))).catch(() => {
      this.#failed = true;
    });
  }

  async #inTime<T>(work: Promise<T>): Promise<T> {
    return await within(deadlineMs, work, () => {
      void this.#handle.kill('KILL').catch(() => undefined);
      throw new Error('it took too long');
    });
  }

  /** Resolves with the path when everything is in the file. */
  async close(): Promise<string | undefined> {
    this.#handle.closeStdin();
    return await this.#inTime(this.path).catch(() => undefined);
  }
}
