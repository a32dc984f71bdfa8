import { Worker } from 'node:worker_threads';
import type {
  AllowedConnection,
  BlockedConnection,
  Connections,
  Door,
  EgressRules,
  FollowedCommand,
  NamespaceEntrance,
} from '../core/egress.ts';
import { HermeticError } from '../core/errors.ts';
import { tracer } from '../core/trace.ts';
import { settlesWithin, within } from '../lib/deadline.ts';
import { errorText } from '../lib/error-text.ts';
import { AllowedList } from './allowed-list.ts';
import { BlockedList } from './blocked-list.ts';
import { isBound } from './bound-secret.ts';
import { ConnectionJournal } from './connection-journal.ts';
import { FollowedCommands } from './followed-commands.ts';
import type { DoorFailure, Notice, NumberedRequest, Request } from './messages.ts';
import { noticeText, replyText } from './notice-text.ts';

const trace = tracer('egress');

const reportMs = 1_000;
/** Out of memory, the thread dies, and the program does not. */
const maxHeapMb = 512;

interface OpeningDoor {
  /** Called once. */
  onStarted: (() => void) | undefined;
  lost: PromiseWithResolvers<string>;
  blocked: ConnectionJournal<BlockedConnection>;
  allowed: ConnectionJournal<AllowedConnection>;
  commands: FollowedCommands;
}

interface Waiting {
  resolve(failure: DoorFailure | undefined): void;
  reject(error: Error): void;
}

/** One life of the egress thread. It keeps the program running only while it is asked for something. */
export class RunningThread {
  /** Resolves when it has ended. None of its sockets is open then. */
  readonly ended: Promise<void>;
  readonly #worker: Worker;
  readonly #answerMs: number;
  #rules: EgressRules;
  readonly #doors = new Map<number, OpeningDoor>();
  readonly #waiting = new Map<number, Waiting>();
  #failure = 'it was stopped';
  #hasEnded = false;
  #lastNumber = 0;

  constructor(file: URL, rules: EgressRules, answerMs: number) {
    this.#answerMs = answerMs;
    this.#rules = rules;
    // Security: it needs nothing of the environment, and no option of this program.
    this.#worker = new Worker(file, { workerData: rules, env: {}, execArgv: [], resourceLimits: { maxOldGenerationSizeMb: maxHeapMb } });
    this.#worker.unref();
    this.#worker.on('message', (notice: Notice) => this.#take(notice));
    this.#worker.on('error', (error) => {
      this.#failure = errorText(error);
    });
    this.ended = new Promise((resolve) => {
      this.#worker.once('exit', () => {
        this.#end();
        resolve();
      });
    });
  }

  /** As `Egress.open`. */
  async open(entrance: NamespaceEntrance, signal: AbortSignal | undefined): Promise<Door> {
    const { command, input, namespace } = entrance;
    const number = this.#nextNumber();
    const door: OpeningDoor = {
      onStarted: () => entrance.onStarted?.(),
      lost: Promise.withResolvers(),
      blocked: new ConnectionJournal(() => new BlockedList()),
      allowed: new ConnectionJournal(() => new AllowedList((destination) => isBound(this.#rules, destination))),
      commands: new FollowedCommands(() => void this.#ask({ kind: 'look', door: number }).catch(() => undefined)),
    };
    this.#doors.set(number, door);
    let closing: Promise<void> | undefined;
    const close = async (): Promise<void> => {
      closing ??= this.#ask({ kind: 'close', door: number }).then(
        () => undefined,
        () => undefined, // it has ended, which closes every door
      );
      await closing;
    };
    const giveUp = (): void => void close();
    signal?.addEventListener('abort', giveUp, { once: true });
    try {
      trace(`network ${number}`, () => 'is opened');
      const failure = await this.#ask({ kind: 'open', door: number, entrance: { command, input, namespace } });
      trace(`network ${number}`, () => (failure ? `could not be opened: ${failure.reason}` : 'is open'));
      await closing;
      signal?.throwIfAborted();
      if (failure) throw openError(failure);
    } catch (error) {
      this.#doors.delete(number);
      tellStarted(door);
      throw error;
    } finally {
      signal?.removeEventListener('abort', giveUp);
    }
    return {
      lost: door.lost.promise,
      watch: (command) => this.#watch(number, door, command),
      close: async () => {
        this.#doors.delete(number);
        door.commands.close();
        trace(`network ${number}`, () => 'is closed');
        await close();
      },
    };
  }

  apply(rules: EgressRules): void {
    this.#rules = rules;
    this.#ask({ kind: 'rules', rules }).catch(() => undefined);
  }

  /** Closes every door and ends the thread. */
  async stop(): Promise<void> {
    await this.#ask({ kind: 'stop' }).catch(() => undefined);
    await this.#worker.terminate();
    await this.ended;
  }

  #watch(number: number, door: OpeningDoor, command: FollowedCommand): () => Promise<Connections> {
    trace(`network ${number}`, () => `shell ${command.mark} may use it`);
    if (this.#doors.has(number)) door.commands.add(command);
    const [blocked, allowed] = [door.blocked.watch(), door.allowed.watch()];
    return async () => {
      const reported = this.#ask({ kind: 'report', door: number }).catch(() => undefined);
      await settlesWithin(reportMs, reported);
      // The others began before, and only ended meanwhile.
      const isOfNow = ({ count, secrets, placeholders }: AllowedConnection): boolean => count + secrets.length + placeholders.length > 0;
      return { blocked: blocked(), allowed: allowed().filter(isOfNow) };
    };
  }

  /** Resolves with the answer. Rejects when the thread has ended; one that does not answer is ended. */
  async #ask(request: Request): Promise<DoorFailure | undefined> {
    if (this.#hasEnded) throw this.#endError();
    const id = this.#nextNumber();
    const { promise, resolve, reject } = Promise.withResolvers<DoorFailure | undefined>();
    if (this.#waiting.size === 0) this.#worker.ref();
    this.#waiting.set(id, { resolve, reject });
    this.#worker.postMessage({ id, request } satisfies NumberedRequest);
    try {
      return await within(this.#answerMs, promise, async () => {
        this.#failure = 'it did not answer';
        await this.#worker.terminate();
        return await promise;
      });
    } finally {
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) this.#worker.unref();
    }
  }

  #take(notice: Notice): void {
    if (notice.kind === 'answer') {
      this.#waiting.get(notice.id)?.resolve(notice.failure);
      return;
    }
    const door = this.#doors.get(notice.door);
    if (!door) return;
    trace(`network ${notice.door}`, () => noticeText(notice));
    if (notice.kind === 'started') tellStarted(door);
    else if (notice.kind === 'connections') {
      door.blocked.add(notice.blocked);
      door.allowed.add(notice.allowed);
    } else if (notice.kind === 'live') door.commands.keepLive(notice.marks);
    else if (notice.kind === 'question') void this.#reply(door, notice);
    else if (notice.kind === 'left') door.commands.left(notice.question);
    else {
      door.commands.close();
      door.lost.resolve(notice.reason);
    }
  }

  async #reply({ commands }: OpeningDoor, { door, question, content }: Extract<Notice, { kind: 'question' }>): Promise<void> {
    const reply = await commands.reply(question, content);
    trace(`network ${door}`, () => `question ${question} is answered: ${replyText(reply)}`);
    if (this.#doors.has(door)) await this.#ask({ kind: 'reply', door, question, reply }).catch(() => undefined);
  }

  #end(): void {
    trace('thread', () => `has ended: ${this.#failure}`);
    this.#hasEnded = true;
    for (const { reject } of this.#waiting.values()) reject(this.#endError());
    for (const door of this.#doors.values()) {
      tellStarted(door);
      door.commands.close();
      door.lost.resolve(this.#endError().message);
    }
    this.#doors.clear();
  }

  #endError(): HermeticError {
    return new HermeticError('sandbox/open-failed', `The egress thread ended: ${this.#failure}.`);
  }

  #nextNumber(): number {
    this.#lastNumber += 1;
    return this.#lastNumber;
  }
}

function tellStarted(door: OpeningDoor): void {
  const { onStarted } = door;
  door.onStarted = undefined;
  onStarted?.();
}

function openError({ reason, takenPort }: DoorFailure): HermeticError {
  if (takenPort === undefined)
    return new HermeticError('sandbox/open-failed', `The restricted network of the sandbox could not be opened: ${reason}`);
  return new HermeticError(
    'sandbox/network-taken',
    `A program inside the sandbox holds port ${takenPort}, which its restricted network needs.`,
    {
      hint: 'End that program, or replace the sandbox.',
    },
  );
}
