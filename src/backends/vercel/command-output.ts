import { createHash, type Hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { HermeticError } from '../../core/errors.ts';
import { backoffMs } from '../../lib/backoff.ts';
import { pause } from '../../lib/pause.ts';
import { printable } from '../../lib/printable.ts';
import { mayPass } from './api-errors.ts';
import { jsonLines } from './json-lines.ts';
import type { Machine } from './machine.ts';

const maxFailures = 6;
const retry = { firstMs: 250, maxMs: 8_000, isSpread: true };
const maxComplaint = 500;
const maxFirstBytes = 256;
const newline = 0x0a;

/**
 * What one command prints on its standard output. Vercel tells it from the beginning whenever it is asked: when the connection is cut it is asked
 * again, and what was read before must come again before more is believed. The output that is not taken is left at Vercel.
 */
export class CommandOutput {
  /** Without its first line. */
  readonly stream: Readable;
  readonly #first = Promise.withResolvers<string>();
  #beginning: string | undefined = '';
  readonly #machine: Machine;
  readonly #command: string;
  readonly #ending = new AbortController();
  /** Of all that was read. */
  #hash: Hash = createHash('sha256');
  #bytes = 0;
  #drained: (() => void) | undefined;
  #socket: Socket | undefined;
  #isRef = true;
  #complaint = '';
  /** The command has ended, and everything it printed has come. */
  isOver = false;

  constructor(machine: Machine, command: string) {
    this.#machine = machine;
    this.#command = command;
    this.stream = new Readable({
      read: () => this.#drained?.(),
      destroy: (error, done) => {
        this.#ending.abort();
        this.#drained?.();
        this.#first.reject(error ?? new Error('it was closed'));
        done(error);
      },
    });
    this.stream.on('error', () => undefined);
    this.#first.promise.catch(() => undefined);
    void this.#follow();
  }

  /** Its first line. */
  get first(): Promise<string> {
    return this.#first.promise;
  }

  ref(): void {
    this.#isRef = true;
    this.#socket?.ref();
  }

  unref(): void {
    this.#isRef = false;
    this.#socket?.unref();
  }

  async #follow(): Promise<void> {
    for (let failures = 0; !this.#ending.signal.aborted; ) {
      const before = this.#bytes;
      try {
        await this.#read();
        // The stream of one that runs may be ended by what stands between us and Vercel.
        const code = await this.#machine.exitCode(this.#command);
        if (code !== undefined) return this.#over(code);
        failures += 1;
      } catch (error) {
        failures += 1;
        const isFinal = error instanceof HermeticError && error.code === 'sandbox/lost';
        if (isFinal || !mayPass(error) || failures > maxFailures) return void this.stream.destroy(error as Error);
      }
      if (this.#bytes > before) failures = 1;
      await pause(backoffMs(failures, retry), this.#ending.signal);
    }
  }

  async #read(): Promise<void> {
    const response = await this.#machine.output(this.#command, this.#ending.signal);
    this.#hold(response);
    const again = createHash('sha256');
    let skipped = 0;
    for await (const line of jsonLines(response)) {
      if (!('stream' in line)) continue;
      if (line.stream === 'stderr') {
        if (skipped === this.#bytes) this.#complaint = (this.#complaint + line.data).slice(-maxComplaint);
        continue;
      }
      const data = Buffer.from(line.data);
      const old = data.subarray(0, this.#bytes - skipped);
      if (old.length > 0) {
        again.update(old);
        skipped += old.length;
        if (skipped === this.#bytes && again.digest('hex') !== this.#hash.copy().digest('hex')) throw otherOutput();
      }
      if (data.length > old.length) {
        await this.#push(data.subarray(old.length));
        skipped = this.#bytes;
      }
    }
    if (skipped < this.#bytes) throw otherOutput();
  }

  #hold(response: IncomingMessage): void {
    this.#socket = response.socket;
    this.#socket.setKeepAlive(true, 30_000);
    if (!this.#isRef) this.#socket.unref();
  }

  async #push(data: Buffer): Promise<void> {
    this.#hash.update(data);
    this.#bytes += data.length;
    const rest = this.#beginning === undefined ? data : this.#begin(data);
    if (rest.length === 0 || this.stream.destroyed || this.stream.push(rest)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#drained = resolve;
    await promise;
    this.#drained = undefined;
  }

  /** What of it comes after the first line. */
  #begin(data: Buffer): Buffer {
    const end = data.indexOf(newline);
    this.#beginning += data.toString('latin1', 0, end === -1 ? data.length : end);
    if ((this.#beginning?.length ?? 0) > maxFirstBytes)
      throw new HermeticError('sandbox/lost', 'The command prints something else than it should.');
    if (end === -1) return Buffer.alloc(0);
    this.#first.resolve(this.#beginning ?? '');
    this.#beginning = undefined;
    return data.subarray(end + 1);
  }

  #over(code: number): void {
    this.isOver = true;
    if (this.#beginning === undefined) this.stream.push(null);
    else {
      const why = printable(this.#complaint) || `bash ended with code ${code}`;
      this.stream.destroy(new HermeticError('sandbox/open-failed', `No command starts in the sandbox: ${why}`));
    }
  }
}

function otherOutput(): HermeticError {
  return new HermeticError('sandbox/lost', 'The output of the command was cut, and Vercel does not have its beginning any more.');
}
