import { randomInt } from 'node:crypto';
import { closeSync, readSync, rmSync, unlink, writeFileSync, writeSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import type { KillSignal } from '../../core/sandbox.ts';
import { attachmentName } from './attachments.ts';
import { EndChannel, type EndRecord } from './end-channel.ts';
import { makePipes, openForReading, openForWriting } from './named-pipes.ts';
import type { Call, OutputPipe, Shell, SpawnRequest, Spawner } from './spawner.ts';

const suffixes = ['in', 'out', 'err', 'end', 'ack'] as const;
const batch = 24;
const pipeCapacity = 64 * 1024;
const killPatienceMs = 8_000;

/**
 * Starts shells through the forker in a sandbox that shares this kernel and the run directory, over named pipes and nothing else.
 * One attachment is one process of ours at one sandbox; the forker notices when it is gone.
 */
export class Attachment implements Spawner {
  readonly ended: Promise<string>;
  readonly #directory: string;
  readonly #name: string;
  readonly #control: number;
  readonly #alive: number;
  /** Held so that the pipe does not end when the forker has written to it and closed it. */
  readonly #eventsWriter: number;
  readonly #events: Socket;
  readonly #base = randomInt(10_000_000, 99_999_999);
  readonly #waiting = new Map<string, (text: string) => void>();
  readonly #shells = new Set<(reason: string) => void>();
  /** Pipes that exist and were never used, by number. */
  readonly #numbers: number[] = [];
  #made = 0;
  #making: Promise<void> | undefined;
  #sequence = 0;
  #closed = false;

  /** Resolves when the forker has answered. Rejects when `ended` comes first, or the signal. */
  static async open(runDirectory: string, ended: Promise<string>, signal?: AbortSignal): Promise<Attachment> {
    const name = attachmentName();
    const directory = join(runDirectory, name);
    await mkdir(directory, { mode: 0o755 });
    try {
      await makePipes(directory, ['alive', 'events']);
      const attachment = new Attachment(runDirectory, directory, name, ended);
      try {
        await attachment.#hello(signal);
        return attachment;
      } catch (error) {
        attachment.close();
        throw error;
      }
    } catch (error) {
      rmSync(directory, { recursive: true, force: true });
      throw error;
    }
  }

  private constructor(runDirectory: string, directory: string, name: string, ended: Promise<string>) {
    this.#directory = directory;
    this.#name = name;
    this.#control = openForWriting(join(runDirectory, 'control'));
    this.#alive = openForWriting(join(directory, 'alive'));
    this.#eventsWriter = openForWriting(join(directory, 'events'));
    this.#events = openForReading(join(directory, 'events')).socket;
    let text = '';
    this.#events.on('data', (chunk: Buffer) => {
      const parts = (text + chunk.toString('latin1')).split('\n');
      text = (parts.pop() ?? '').slice(-1000);
      for (const line of parts) this.#heard(line);
    });
    this.#events.on('error', () => this.#events.destroy());
    this.ended = ended.then((reason) => {
      for (const lost of this.#shells) lost(reason);
      return reason;
    });
  }

  async #hello(signal: AbortSignal | undefined): Promise<void> {
    const answered = this.#ask('hello', `attach ${this.#name} ${this.#base}`);
    const aborted = new Promise<never>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason), { once: true }));
    const over = this.ended.then((reason) => Promise.reject(new Error(reason)));
    over.catch(() => undefined);
    signal?.throwIfAborted();
    await Promise.race([Promise.all([answered, this.#makeMore()]), over, aborted]);
  }

  #ask(answer: string, request: string): Promise<string> {
    return new Promise((resolve) => {
      this.#waiting.set(answer, resolve);
      this.#tell(request);
    });
  }

  #heard(line: string): void {
    const [word, sequence, rest = ''] = line.split(' ');
    const key = word === 'killed' ? `killed ${sequence}` : line;
    this.#waiting.get(key)?.(rest);
    this.#waiting.delete(key);
  }

  #tell(line: string): void {
    if (!this.#closed) writeSync(this.#control, `${line}\n`);
  }

  #makeMore(): Promise<void> {
    this.#making ??= (async () => {
      const first = this.#made;
      this.#made += batch;
      const numbers = Array.from({ length: batch }, (_, index) => first + index);
      await makePipes(
        this.#directory,
        numbers.flatMap((number) => suffixes.map((suffix) => `${number}.${suffix}`)),
      );
      this.#numbers.push(...numbers);
    })().finally(() => {
      this.#making = undefined;
    });
    return this.#making;
  }

  /** Resolves when `spawn` can be called. */
  async prepare(): Promise<void> {
    while (this.#numbers.length === 0) await this.#makeMore();
  }

  spawn(request: SpawnRequest, receive: (record: EndRecord) => void, lost: (reason: string) => void): Shell {
    const number = this.#numbers.shift();
    if (number === undefined) throw new Error('spawn was called before prepare resolved');
    if (this.#numbers.length < batch / 3 && !this.#closed) this.#makeMore().catch(() => undefined);
    const mark = `${this.#base}${String(number).padStart(9, '0')}`;
    const shell = new PipedShell(join(this.#directory, String(number)), request, {
      receive,
      lost,
      forget: () => this.#shells.delete(shell.lost),
      kill: (signal) => this.#kill(mark, signal),
    });
    this.#shells.add(shell.lost);
    const { rows, columns } = request.terminal ?? { rows: 24, columns: 80 };
    this.#tell(`spawn ${this.#name} ${number} ${mark} ${request.mode} ${rows} ${columns}`);
    return shell;
  }

  async #kill(mark: string, signal: KillSignal): Promise<void> {
    const sequence = ++this.#sequence;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<string>((resolve) => {
      timer = setTimeout(() => resolve('late'), killPatienceMs);
    });
    const over = this.ended.then(() => '0');
    const left = await Promise.race([this.#ask(`killed ${sequence}`, `kill ${this.#name} ${mark} ${signal} ${sequence}`), late, over]);
    clearTimeout(timer);
    if (signal === 'KILL' && left !== '0') throw new Error(left === 'late' ? 'the forker does not answer' : `${left} processes survived`);
  }

  /** Ends the forker, and with it whatever lives only as long as it. */
  stop(): void {
    this.#tell('stop');
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#events.destroy();
    for (const descriptor of [this.#eventsWriter, this.#alive, this.#control]) closeSync(descriptor);
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

interface ShellOwner {
  receive(record: EndRecord): void;
  lost(reason: string): void;
  forget(): void;
  kill(signal: KillSignal): Promise<void>;
}

class PipedShell implements Shell {
  readonly stdout: OutputPipe;
  readonly stderr: OutputPipe;
  readonly #at: string;
  readonly #owner: ShellOwner;
  readonly #end: Socket;
  readonly #acknowledge: number;
  /** Standard input until somebody wants a stream of it. */
  #input: number | undefined;
  #writable: Socket | undefined;
  #ready = false;
  #closeWhenReady = false;
  #over = false;

  constructor(at: string, request: SpawnRequest, owner: ShellOwner) {
    this.#at = at;
    this.#owner = owner;
    if (request.restore) writeFileSync(`${at}.state`, request.restore, 'latin1');
    this.stdout = outputPipe(`${at}.out`);
    this.stderr = outputPipe(`${at}.err`);
    this.#input = openForWriting(`${at}.in`);
    this.#acknowledge = openForWriting(`${at}.ack`);
    this.#end = openForReading(`${at}.end`).socket;
    const channel = new EndChannel((record) => this.#heard(record));
    this.#end.on('data', (chunk: Buffer) => channel.push(chunk));
    this.#end.on('end', () => this.lost('the shell ended without a word'));
    this.#end.on('error', (error) => this.lost(error.message));
    if (request.call) this.#handOver(request.call);
  }

  /** A property, so that it can be kept in a set and called from there. */
  readonly lost = (reason: string): void => {
    if (this.#over) return;
    this.#over = true;
    this.#owner.forget();
    this.#owner.lost(reason);
  };

  #heard(record: EndRecord): void {
    if (record.kind === 'ready') {
      this.#ready = true;
      if (this.#closeWhenReady) this.closeStdin();
    }
    this.#owner.receive(record);
  }

  /** From here on the program stays until the command has ended. */
  #handOver({ script, sessionDirectory, directory, variables, args }: Call): void {
    const fields = [script, sessionDirectory, directory, String(variables.length), ...variables, ...args];
    writeFileSync(`${this.#at}.call`, `${fields.join('\0')}\0`, 'latin1');
    for (const pipe of [this.stdout.stream, this.stderr.stream, this.#end]) pipe.ref();
  }

  begin(call: Call, delta: string): void {
    this.#handOver(call);
    if (delta) writeFileSync(`${this.#at}.delta`, delta, 'latin1');
    if (this.#input !== undefined) writeSync(this.#input, delta ? 'delta\n' : 'go\n');
  }

  stdin(): Writable {
    if (this.#writable) return this.#writable;
    if (this.#input === undefined) throw new Error('standard input is closed');
    this.#writable = new Socket({ fd: this.#input, readable: false, writable: true });
    this.#writable.on('error', () => undefined);
    this.#input = undefined;
    return this.#writable;
  }

  closeStdin(): void {
    // Before the shell has opened its end, closing ours would lose what is in the pipe.
    if (!this.#ready && !this.#over) {
      this.#closeWhenReady = true;
      return;
    }
    this.#writable?.end();
    if (this.#input !== undefined) closeSync(this.#input);
    this.#input = undefined;
  }

  kill(signal: KillSignal): Promise<void> {
    return this.#owner.kill(signal);
  }

  release(): void {
    this.#over = true;
    this.#owner.forget();
    this.closeStdin();
    this.#writable?.destroy();
    this.#end.destroy();
    closeSync(this.#acknowledge);
    for (const { stream } of [this.stdout, this.stderr]) stream.destroy();
    for (const suffix of [...suffixes, 'call', 'state', 'delta']) unlink(`${this.#at}.${suffix}`, () => undefined);
  }
}

function outputPipe(path: string): OutputPipe {
  const { descriptor, socket } = openForReading(path);
  const drain = (): Buffer[] => {
    const chunks: Buffer[] = [];
    socket.removeAllListeners('data');
    socket.pause();
    for (let chunk = socket.read() as Buffer | null; chunk; chunk = socket.read() as Buffer | null) chunks.push(chunk);
    // No more than a pipe holds: a background process that prints without end must not keep us here.
    for (let left = pipeCapacity; left > 0 && !socket.destroyed && !socket.readableEnded; ) {
      const chunk = Buffer.allocUnsafe(left);
      const length = readNow(descriptor, chunk);
      if (length === 0) break;
      chunks.push(chunk.subarray(0, length));
      left -= length;
    }
    return chunks;
  };
  return { stream: socket, drain };
}

/** 0 when the pipe is empty or at its end. */
function readNow(descriptor: number, into: Buffer): number {
  try {
    return readSync(descriptor, into);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return 0;
    throw error;
  }
}
