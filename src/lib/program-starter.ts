import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { settlesWithin } from './deadline.ts';
import { started } from './started.ts';

/** A program of this machine, which prints no NUL and whose errors say nothing. */
export interface Program {
  words: readonly [file: string, ...args: string[]];
  /** Default: the root directory. */
  cwd?: string | undefined;
  /** Without it, it may take any time. */
  timeoutMs?: number | undefined;
  /** Told what it prints, in pieces. Must not throw. */
  onOutput(piece: Buffer): void;
}

interface Running {
  onOutput: Program['onOutput'];
  /** What has come of its exit code; undefined while it prints. */
  code: string | undefined;
  exit: PromiseWithResolvers<number>;
}

/** Starts programs, one after the other. */
export interface Starter {
  /** It starts no more. */
  readonly hasEnded: boolean;
  /** Resolves with the exit code. Rejects when the program takes too long, and ends it. */
  run(program: Program): Promise<number>;
  /** Once nothing runs. */
  close(): void;
}

/** From a small process of its own, or from this one where there is no bash. */
export function starterOf(script: string): Starter {
  try {
    return new StarterProcess(script);
  } catch {
    return { hasEnded: true, run: runFromHere, close: () => undefined };
  }
}

async function runFromHere({ words: [file, ...args], cwd = '/', timeoutMs, onOutput }: Program): Promise<number> {
  const child = started(spawn(file, args, { cwd, stdio: ['ignore', 'pipe', 'ignore'] }));
  child.stdout.on('data', onOutput);
  const closed = once(child, 'close') as Promise<[code: number | null]>;
  if (await settlesWithin({ ms: timeoutMs }, closed)) return (await closed)[0] ?? killedCode;
  child.kill('SIGKILL');
  throw tookLonger(file, timeoutMs);
}

/** As bash says that a program was killed. */
const killedCode = 137;

/** Security: half of what it says would be taken for the whole. */
function tookLonger(file: string, timeoutMs = 0): Error {
  return new Error(`${file} took longer than ${timeoutMs / 1000} s`);
}

/** Runs `host-scripts/start-programs.bash`. */
class StarterProcess implements Starter {
  readonly #child: ChildProcess;
  #running: Running | undefined;
  #hasEnded = false;

  /** Throws when bash cannot be started. */
  constructor(script: string) {
    // Security: `-p` leaves out the functions and the start-up file that an environment may have for bash. `detached`: its group has nothing else.
    this.#child = started(spawn('bash', ['-p', '-c', script], { stdio: ['pipe', 'pipe', 'ignore'], detached: true, cwd: '/' }));
    this.#child.stdin?.on('error', () => undefined);
    this.#child.stdout?.on('data', (data: Buffer) => this.#take(data));
    this.#child.on('close', () => {
      this.#hasEnded = true;
      this.#running?.exit.reject(new Error('the process that starts programs has ended'));
    });
    this.#hold(false);
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Ends with a program that takes too long. */
  async run({ words, cwd = '/', timeoutMs, onOutput }: Program): Promise<number> {
    const fields = [cwd, String(words.length), ...words];
    if (fields.some((field) => field.includes('\0'))) throw new TypeError('A word of a program cannot contain NUL.');
    const exit = Promise.withResolvers<number>();
    this.#running = { onOutput, code: undefined, exit };
    this.#hold(true);
    try {
      this.#child.stdin?.write([...fields, ''].join('\0'));
      if (await settlesWithin({ ms: timeoutMs }, exit.promise)) return await exit.promise;
      throw tookLonger(words[0], timeoutMs);
    } catch (error) {
      this.#kill();
      throw error;
    } finally {
      this.#running = undefined;
      this.#hold(false);
    }
  }

  #take(data: Buffer): void {
    const running = this.#running;
    if (!running) return;
    const end = running.code === undefined ? data.indexOf(0) : 0;
    if (running.code === undefined && end !== 0) running.onOutput(end === -1 ? data : data.subarray(0, end));
    if (end === -1) return;
    const told = data.subarray(running.code === undefined ? end + 1 : 0).toString('latin1');
    running.code = (running.code ?? '') + told;
    if (running.code.endsWith('\n')) running.exit.resolve(Number(running.code));
  }

  /** Whether our process goes on for as long as this one runs. */
  #hold(isHeld: boolean): void {
    const how = isHeld ? 'ref' : 'unref';
    this.#child[how]();
    for (const stream of [this.#child.stdin, this.#child.stdout]) (stream as Socket | null)?.[how]?.();
  }

  close(): void {
    this.#child.stdin?.end();
  }

  /** With what it runs. */
  #kill(): void {
    if (this.#hasEnded || this.#child.pid === undefined) return;
    this.#hasEnded = true;
    try {
      process.kill(-this.#child.pid, 'SIGKILL');
    } catch {
      // It has just ended.
    }
  }
}
