import { extname } from 'node:path';
import type { Door, Egress, EgressRules, NamespaceEntrance } from '../core/egress.ts';
import { HermeticError } from '../core/errors.ts';
import { errorText } from '../lib/error-text.ts';
import { RunningThread } from './running-thread.ts';

export interface EgressThreadOptions {
  /** The code of the thread. */
  file?: URL;
  /** A thread that takes longer to answer is ended. */
  answerMs?: number;
}

/** The same file ending as this one: source or build. */
const workerFile = new URL(`./worker${extname(import.meta.url)}`, import.meta.url);
/** Longer than the thread takes for anything, also on a machine that is so busy that starting it takes a while. */
const defaultAnswerMs = 60_000;

/**
 * Owns the sockets of every restricted sandbox, in a thread of its own that starts with the first of them. A thread that dies closes them all,
 * and the next `open` starts another one. It does not keep the program running.
 */
export class EgressThread implements Egress {
  readonly #rules: () => EgressRules;
  readonly #file: URL;
  readonly #answerMs: number;
  #running: RunningThread | undefined;

  constructor(rules: () => EgressRules, { file = workerFile, answerMs = defaultAnswerMs }: EgressThreadOptions = {}) {
    this.#rules = rules;
    this.#file = file;
    this.#answerMs = answerMs;
  }

  async open(entrance: NamespaceEntrance, signal?: AbortSignal): Promise<Door> {
    let thread: RunningThread;
    try {
      signal?.throwIfAborted();
      thread = this.#running ?? this.#start();
    } catch (error) {
      entrance.onStarted?.();
      throw error;
    }
    return await thread.open(entrance, signal);
  }

  /** Applies the rules as they are now. Connections that they no longer allow are cut. Their direct ports are for sandboxes that open later. */
  rulesChanged(): void {
    this.#running?.apply(this.#rules());
  }

  /** Closes every door and ends the thread. */
  async stop(): Promise<void> {
    await this.#running?.stop();
  }

  #start(): RunningThread {
    let thread: RunningThread;
    try {
      thread = new RunningThread(this.#file, this.#rules(), this.#answerMs);
    } catch (error) {
      throw new HermeticError('sandbox/open-failed', `The egress thread could not be started: ${errorText(error)}`, { cause: error });
    }
    this.#running = thread;
    void thread.ended.then(() => {
      if (this.#running === thread) this.#running = undefined;
    });
    return thread;
  }
}
