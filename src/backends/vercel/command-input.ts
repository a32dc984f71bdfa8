import { Writable } from 'node:stream';
import { HermeticError } from '../../core/errors.ts';
import { backoffMs } from '../../lib/backoff.ts';
import { ByteStore } from '../../lib/byte-store.ts';
import { errorText } from '../../lib/error-text.ts';
import { guestScript } from '../../shell/guest-scripts.ts';
import { mayPass } from './api-errors.ts';
import type { Machine } from './machine.ts';

/** In base64 it fits into a variable of a command. */
const maxLineBytes = 64 * 1024;
/** More at once is uploaded as a file. */
const maxFileBytes = 4 * 1024 * 1024;
/** Of one call. The kernel takes less than 2 MB of variables. */
const maxCallBytes = 1024 * 1024;
const maxFailures = 6;
const retry = { firstMs: 250, maxMs: 8_000, isSpread: true };

export interface Beat {
  /** A command hears of this program at least so often. */
  everyMs: number;
  /** A command whose input is silent for so long has lost its program. */
  silenceSeconds: number;
}

/** The inputs of the commands of one machine: pieces that are written at the same moment go in one call. */
export class CommandInputs {
  readonly #machine: Machine;
  readonly #beat: Beat;
  readonly #open = new Set<CommandInput>();
  #isScheduled = false;
  #beating: NodeJS.Timeout | undefined;

  constructor(machine: Machine, beat: Beat) {
    this.#machine = machine;
    this.#beat = beat;
  }

  /** The input of the command whose `guest/piped-command.bash` is this process. */
  open(pid: number, key: string): Writable {
    const input = new CommandInput(pid, key, {
      schedule: () => this.#schedule(),
      upload: (path, data) => this.#machine.upload(path, data),
      closed: () => this.#closed(input),
    });
    this.#open.add(input);
    this.#beating ??= setInterval(() => this.#sendBeats(), this.#beat.everyMs).unref();
    return input.stream;
  }

  /** Ends the input of a command that no one listens to any more. It would end by itself, later. */
  end(pid: number, key: string): void {
    const ignored = (): void => undefined;
    void this.#call([{ pid, line: `${key} -1 0 `, arrived: ignored, gone: ignored, failed: ignored }]);
  }

  #closed(input: CommandInput): void {
    this.#open.delete(input);
    if (this.#open.size > 0) return;
    clearInterval(this.#beating);
    this.#beating = undefined;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#send([...this.#open]);
    });
  }

  #sendBeats(): void {
    const since = Date.now() - this.#beat.everyMs / 2;
    for (const input of this.#open) input.beat(since);
    this.#send([...this.#open]);
  }

  #send(inputs: readonly CommandInput[]): void {
    const pieces: Piece[] = [];
    let bytes = 0;
    for (const input of inputs) {
      if (bytes > maxCallBytes - 2 * maxLineBytes) {
        this.#schedule();
        break;
      }
      const piece = input.take();
      if (piece === undefined) continue;
      bytes += piece.line.length;
      pieces.push(piece);
    }
    if (pieces.length > 0) void this.#call(pieces);
  }

  async #call(pieces: readonly Piece[]): Promise<void> {
    const waiting = new Map(pieces.map((piece) => [String(piece.pid), piece]));
    let failure: unknown = new Error('it was not said that the input had arrived');
    try {
      const names = pieces.map((piece, index) => [String(piece.pid), `__HERMETIC_LINE_${index}`]);
      const env = Object.fromEntries(pieces.map((piece, index) => [`__HERMETIC_LINE_${index}`, piece.line]));
      let said = '';
      for await (const line of this.#machine.run({ text: await guestScript('pipedInput'), args: names.flat(), env })) {
        if (!('stream' in line) || line.stream !== 'stdout') continue;
        const lines = (said + line.data).split('\n');
        said = (lines.pop() ?? '').slice(-100);
        for (const answer of lines) {
          const piece = waiting.get(answer.slice(1));
          if (!piece || !waiting.delete(answer.slice(1))) continue;
          if (answer.startsWith('+')) piece.arrived();
          else piece.gone();
        }
      }
    } catch (error) {
      failure = error;
    }
    for (const piece of waiting.values()) piece.failed(failure, mayPass(failure));
  }
}

interface Piece {
  pid: number;
  line: string;
  arrived(): void;
  /** The command is not there any more. Its output tells how it ended. */
  gone(): void;
  failed(error: unknown, mayPass: boolean): void;
}

interface Surroundings {
  schedule(): void;
  upload(path: string, data: Uint8Array): Promise<void>;
  closed(): void;
}

/** The input of one command. A piece has a number, so that one of which it is unknown whether it arrived can be sent again. */
class CommandInput {
  readonly stream: Writable;
  readonly #pid: number;
  readonly #key: string;
  readonly #around: Surroundings;
  readonly #waiting = new ByteStore();
  /** Called when there is room again. */
  #room: (() => void) | undefined;
  /** The piece that is to arrive next; the number 0 is a beat. */
  #line: string | undefined;
  #number = 0;
  #failures = 0;
  #isSending = false;
  #heardAt = Date.now();

  constructor(pid: number, key: string, around: Surroundings) {
    this.#pid = pid;
    this.#key = key;
    this.#around = around;
    this.stream = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        this.#waiting.push(chunk);
        around.schedule();
        if (this.#waiting.length < maxFileBytes) done();
        else this.#room = done;
      },
      destroy: (error, done) => {
        around.closed();
        done(error);
      },
    });
    this.stream.on('error', () => undefined);
  }

  /** Says that this program lives, unless something else has since then. */
  beat(since: number): void {
    if (this.#line === undefined && this.#waiting.length === 0 && this.#heardAt < since) this.#line = `${this.#key} 0`;
  }

  /** What is to be sent now. */
  take(): Piece | undefined {
    if (this.#isSending) return undefined;
    this.#line ??= this.#nextLine();
    if (this.#line === undefined) return undefined;
    this.#isSending = true;
    return {
      pid: this.#pid,
      line: this.#line,
      arrived: () => this.#arrived(),
      gone: () => void this.stream.destroy(),
      failed: (error, mayPass) => this.#failed(error, mayPass),
    };
  }

  #nextLine(): string | undefined {
    if (this.#waiting.length === 0) return undefined;
    if (this.#waiting.length > maxLineBytes) {
      void this.#upload();
      return undefined;
    }
    const line = this.#numbered(this.#waiting.view().toString('base64'));
    this.#drop(this.#waiting.length);
    return line;
  }

  #numbered(data: string): string {
    this.#number += 1;
    return `${this.#key} ${this.#number} ${data.length} ${data}`;
  }

  #drop(bytes: number): void {
    this.#waiting.drop(bytes);
    const room = this.#room;
    this.#room = undefined;
    room?.();
  }

  async #upload(): Promise<void> {
    const path = `/tmp/hermetic-input-${this.#key}-${this.#number + 1}`;
    const data = Buffer.from(this.#waiting.view(0, maxFileBytes));
    this.#isSending = true;
    try {
      await this.#around.upload(path, data);
      this.#line = this.#numbered(`<${path}`);
      this.#drop(data.length);
      this.#isSending = false;
      this.#around.schedule();
    } catch (error) {
      this.#failed(error, mayPass(error));
    }
  }

  #arrived(): void {
    this.#heardAt = Date.now();
    this.#line = undefined;
    this.#failures = 0;
    this.#isSending = false;
    if (this.#waiting.length > 0) this.#around.schedule();
  }

  #failed(error: unknown, mayPass: boolean): void {
    this.#failures += 1;
    if (!mayPass || this.#failures > maxFailures) {
      this.stream.destroy(
        new HermeticError('sandbox/lost', `The input of the command did not arrive: ${errorText(error)}`, { cause: error }),
      );
      return;
    }
    setTimeout(
      () => {
        this.#isSending = false;
        this.#around.schedule();
      },
      backoffMs(this.#failures, retry),
    ).unref();
  }
}
