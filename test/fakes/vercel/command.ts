import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { appendFileSync, closeSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import type { ExecProcess } from '../kubernetes/node.ts';

/** So much of its log may be unread before a command is held up. */
const maxUnreadBytes = 4 * 1024 * 1024;
/** What a process left running after its command has its streams. */
const lastOutputMs = 300;

export interface CommandRecord {
  id: string;
  name: string;
  args: string[];
  cwd: string;
  sessionId: string;
  exitCode: number | null;
  startedAt: number;
}

/** A command of a session, whose log is kept from its beginning and told to everyone who asks, as often as they ask. */
export class FakeCommand {
  readonly record: CommandRecord;
  readonly #path = join(tmpdir(), `hermetic-fake-vercel-${randomUUID()}`);
  readonly #changes = new EventEmitter().setMaxListeners(0);
  readonly #process: ExecProcess;
  #bytes = 0;
  #read = 0;
  #isOver = false;

  constructor(process: ExecProcess, record: Omit<CommandRecord, 'id' | 'exitCode' | 'startedAt'>) {
    this.#process = process;
    this.record = { id: `cmd_${randomUUID()}`, exitCode: null, startedAt: Date.now(), ...record };
    // It has no input.
    process.stdin.end();
    const outputs = [this.#keep('stdout', process.stdout), this.#keep('stderr', process.stderr)];
    // Of a machine that has been stopped they are cut.
    const streams = outputs.map((output) => output.catch(() => undefined));
    void process.exited.then(async (code) => {
      const all = Promise.all(streams).then(() => true);
      const late = (): Promise<boolean> => new Promise((resolve) => setTimeout(() => resolve(!this.#isHeldUp), lastOutputMs).unref());
      while (!(await Promise.race([all, late()])));
      this.#finish(code);
    });
  }

  async #keep(stream: 'stdout' | 'stderr', source: Readable): Promise<void> {
    for await (const chunk of source) {
      if (this.#isOver) return;
      // Bytes that are no text are lost, as they are at Vercel.
      this.#append({ stream, data: String(chunk) });
      while (this.#isHeldUp) await once(this.#changes, 'change');
    }
  }

  get #isHeldUp(): boolean {
    return this.#bytes - this.#read > maxUnreadBytes && !this.#isOver;
  }

  #append(line: unknown): void {
    const text = Buffer.from(`${JSON.stringify(line)}\n`);
    appendFileSync(this.#path, text);
    this.#bytes += text.length;
    this.#changes.emit('change');
  }

  #finish(code: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.record.exitCode = code;
    this.#changes.emit('change');
  }

  /** Its machine has been stopped. */
  lose(): void {
    if (this.#isOver) return;
    this.#append({ stream: 'error', data: { code: 'sandbox_stopped', message: 'The \u001b[31msandbox was stopped.' } });
    this.#finish(137);
    this.#process.stdout.destroy();
    this.#process.stderr.destroy();
  }

  async ended(): Promise<void> {
    while (!this.#isOver) await once(this.#changes, 'change');
  }

  /** Its log from the beginning, as NDJSON, until it has ended or the reader is gone. */
  async tell(to: Writable): Promise<void> {
    const file = openSync(this.#path, 'a+');
    await this.#copy(file, to).finally(() => closeSync(file));
  }

  async #copy(file: number, to: Writable): Promise<void> {
    const piece = Buffer.alloc(64 * 1024);
    const gone = once(to, 'close').catch(() => undefined);
    for (let at = 0; !to.destroyed; ) {
      const length = at < this.#bytes ? readSync(file, piece, 0, Math.min(piece.length, this.#bytes - at), at) : 0;
      if (length === 0) {
        if (this.#isOver) return;
        await Promise.race([once(this.#changes, 'change'), gone]);
        continue;
      }
      at += length;
      if (!to.write(Buffer.from(piece.subarray(0, length))))
        await Promise.race([new Promise((resolve) => to.once('drain', resolve)), gone]);
      if (at <= this.#read) continue;
      this.#read = at;
      this.#changes.emit('change');
    }
  }

  remove(): void {
    rmSync(this.#path, { force: true });
  }
}
