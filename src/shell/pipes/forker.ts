import { closeSync, writeSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { HermeticError } from '../../core/errors.ts';
import type { KillSignal, OpenSandbox } from '../../core/sandbox.ts';
import { within } from '../../lib/deadline.ts';
import { processName } from '../../lib/process-name.ts';
import type { EndRecord } from '../end-channel.ts';
import { markOf, newMarkBase } from '../marks.ts';
import { openShellSandbox, type Place } from '../shell-sandbox.ts';
import type { Shell, ShellOwner, Spawner, SpawnRequest } from '../spawner.ts';
import type { StateStore } from '../state-store.ts';
import { EventChannel } from './event-channel.ts';
import { makePipes, makePipesNow, openForWriting } from './named-pipes.ts';
import { type Habits, PipedShell, pipeSuffixes } from './piped-shell.ts';

const batch = 24;
const helloDeadlineMs = 20_000;
const killDeadlineMs = 8_000;
/** Looking at every process takes long beside hundreds of busy ones. */
const liveDeadlineMs = 20_000;
const nudgeMs = 1_000;

/** Enough for the first shells; the next ones are made while those start. */
const firstNumbers = [0, 1, 2];

/** The first pipes of an attachment. They may be made while the sandbox they are for still starts. */
export interface AttachmentPipes {
  name: string;
  directory: string;
}

/** Leaves nothing behind when it throws. `name` is that of a claim, where others look for attached programs. */
export async function makeAttachmentPipes(runDirectory: string, name = processName()): Promise<AttachmentPipes> {
  const directory = join(runDirectory, name);
  await mkdir(directory, { recursive: true, mode: 0o755 });
  try {
    await makePipes(directory, ['alive', 'events', ...firstNumbers.flatMap(pipeNames)]);
    return { name, directory };
  } catch (error) {
    await removeAttachmentPipes({ name, directory });
    throw error;
  }
}

async function removeAttachmentPipes({ directory }: AttachmentPipes): Promise<void> {
  await rm(directory, { recursive: true, force: true });
}

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
  readonly #events: EventChannel;
  readonly #base = newMarkBase();
  readonly #shells = new Set<(reason: string) => void>();
  /** Pipes that exist and were never used, by number. */
  readonly #numbers = [...firstNumbers];
  #made = firstNumbers.length;
  #making: Promise<void> | undefined;
  readonly #habits: Habits = { usesFiles: false };
  #sequence = 0;
  #closed = false;

  /** Resolves when the forker has answered. Rejects when `ended` comes first, or the signal. */
  static async open(runDirectory: string, pipes: AttachmentPipes, ended: Promise<string>, signal?: AbortSignal): Promise<Attachment> {
    try {
      const attachment = new Attachment(runDirectory, pipes, ended);
      try {
        await attachment.#hello(signal);
        return attachment;
      } catch (error) {
        await attachment.close();
        throw error;
      }
    } catch (error) {
      await removeAttachmentPipes(pipes);
      throw error;
    }
  }

  private constructor(runDirectory: string, { name, directory }: AttachmentPipes, ended: Promise<string>) {
    this.#directory = directory;
    this.#name = name;
    const opened: number[] = [];
    const openPipe = (path: string): number => {
      const descriptor = openForWriting(path);
      opened.push(descriptor);
      return descriptor;
    };
    try {
      this.#control = openPipe(join(runDirectory, 'control'));
      this.#alive = openPipe(join(directory, 'alive'));
      this.#events = new EventChannel(join(directory, 'events'));
    } catch (error) {
      // The sandbox is being removed meanwhile.
      for (const descriptor of opened) closeSync(descriptor);
      throw error;
    }
    this.ended = ended.then((reason) => {
      for (const lost of this.#shells) lost(reason);
      return reason;
    });
  }

  async #hello(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    await within({ signal }, this.#ask('hello', `attach ${this.#name} ${this.#base}`, helloDeadlineMs), () => signal?.throwIfAborted());
  }

  /** Rejects when the answer does not come in time, or the sandbox ends before it. */
  async #ask(answer: string, request: string, deadlineMs: number): Promise<string> {
    const over = this.ended.then((reason) => Promise.reject(new Error(reason)));
    over.catch(() => undefined);
    try {
      const answered = this.#events.expect(answer);
      this.#tell(request);
      return await within(deadlineMs, Promise.race([answered, over]), () => {
        throw new Error('its forker does not answer');
      });
    } finally {
      this.#events.forget(answer);
    }
  }

  /**
   * Security: throws instead of waiting when the pipe is full, as it is when a process inside fills it or the forker does not read. The
   * empty line ends a line that a process inside may have begun.
   */
  #tell(line: string): void {
    if (this.#closed) return;
    try {
      writeSync(this.#control, `\n${line}\n`);
    } catch (cause) {
      throw new HermeticError('sandbox/lost', 'The sandbox does not take requests any more.', { cause });
    }
  }

  /** For what only helps: a full pipe or a dead forker is no error here. */
  #tellIfPossible(line: string): void {
    try {
      this.#tell(line);
    } catch {
      // The caller goes on without it.
    }
  }

  #makeMore(): Promise<void> {
    this.#making ??= (async () => {
      const numbers = Array.from({ length: batch }, () => this.#made++);
      await makePipes(this.#directory, numbers.flatMap(pipeNames));
      this.#numbers.push(...numbers);
    })().finally(() => {
      this.#making = undefined;
    });
    return this.#making;
  }

  async prepare(): Promise<void> {
    if (this.#numbers.length === 0 && !this.#closed) await this.#makeMore();
  }

  /** Several who waited for the same pipes may want more than there are. */
  #makeOneNow(): number {
    const number = this.#made++;
    makePipesNow(this.#directory, pipeNames(number));
    return number;
  }

  spawn(request: SpawnRequest, receive: (record: EndRecord) => void, lost: (reason: string) => void): Shell {
    const number = this.#numbers.shift() ?? this.#makeOneNow();
    if (this.#numbers.length < batch / 3 && !this.#closed) this.#makeMore().catch(() => undefined);
    const mark = markOf(this.#base, number);
    const owner: ShellOwner = {
      receive: (record) => {
        clearInterval(nudges);
        // Before the result is known and the sandbox may be closed: otherwise a slow supervisor costs what the command left in the background.
        if (record.kind === 'completed') this.#tellIfPossible(`ended ${mark}`);
        receive(record);
      },
      lost,
      forget: () => {
        clearInterval(nudges);
        this.#shells.delete(shell.lost);
      },
      kill: (signal) => this.#kill(mark, signal),
    };
    const shell = new PipedShell(join(this.#directory, String(number)), mark, request, owner, this.#habits);
    // In a sandbox that is full the forker would wait many seconds for room to start the shell: the command is refused instead.
    const nudges = setInterval(() => this.#nudge(mark), nudgeMs).unref();
    this.#shells.add(shell.lost);
    const { rows, columns } = request.terminal ?? { rows: 24, columns: 80 };
    try {
      this.#tell(`spawn ${this.#name} ${number} ${mark} ${request.mode} ${rows} ${columns}`);
    } catch (error) {
      shell.release();
      throw error;
    }
    return shell;
  }

  killAll(): Promise<void> {
    return this.#kill('all', 'KILL');
  }

  async #kill(mark: string, signal: KillSignal): Promise<void> {
    const sequence = ++this.#sequence;
    const over = this.ended.then(() => '0');
    const answered = this.#ask(`killed ${sequence}`, `kill ${this.#name} ${mark} ${signal} ${sequence}`, killDeadlineMs);
    // A forker that waits for room to fork, in a sandbox that what is to be killed has filled, hears nothing for many seconds.
    const nudges = setInterval(() => this.#nudge(), nudgeMs);
    // Only who must be dead must be known to have got the signal.
    const left = await Promise.race([over, signal === 'KILL' ? answered : answered.catch(() => '0')]).finally(() => clearInterval(nudges));
    if (signal === 'KILL' && left !== '0') throw new Error(`${left} processes survived`);
  }

  async hasLiveProcesses(waiting = '-'): Promise<boolean> {
    const sequence = ++this.#sequence;
    return (await this.#ask(`live ${sequence}`, `live ${this.#name} ${waiting} ${sequence}`, liveDeadlineMs)) !== '0';
  }

  /** Nudges the forker and, with the mark of a shell, the supervisor that starts it. */
  #nudge(mark?: string): void {
    try {
      if (!this.#closed) writeSync(this.#alive, '\n');
    } catch {
      // A full pipe or a dead forker: the nudge does not help then.
    }
    if (mark !== undefined) this.#tellIfPossible(`nudge ${this.#name} ${mark}`);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#events.close();
    for (const descriptor of [this.#alive, this.#control]) closeSync(descriptor);
    // A directory cannot be removed while a process still makes files in it: we ourselves, or a shell that does not know yet.
    await this.#making?.catch(() => undefined);
    await rm(this.#directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 10 });
  }
}

function pipeNames(number: number): string[] {
  return pipeSuffixes.map((suffix) => `${number}.${suffix}`);
}

/** A started forker. */
export interface Forker extends Place {
  /** Host path of the directory it has its pipes in. */
  runDirectory: string;
  /** When they are being made already. */
  pipes?: Promise<AttachmentPipes> | undefined;
}

/** A sandbox whose shells are started by a forker. When this throws, the forker has been ended. */
export function attachToForker(forker: Forker, store: StateStore, signal?: AbortSignal): Promise<OpenSandbox> {
  const { runDirectory, ended } = forker;
  const attach = async () => await Attachment.open(runDirectory, await (forker.pipes ?? makeAttachmentPipes(runDirectory)), ended, signal);
  return openShellSandbox(forker, store, attach, signal);
}
