import { once } from 'node:events';
import { extname } from 'node:path';
import { setTimeout as delay, setImmediate as turnOfLoop } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { JudgeContext, JudgedAction, Policy, Verdict } from '../core/approval.ts';
import { within } from '../lib/deadline.ts';
import { Lane, Lanes } from '../lib/lanes.ts';
import type { Programs } from './tables/program.ts';
import { rules } from './tables/rules.ts';

export interface Request {
  action: JudgedAction;
  context: JudgeContext;
  programs: Programs;
}

export interface Answer {
  /** undefined: the thread has read the tables. */
  verdict: Verdict | undefined;
  /** Of the thread, since it was started. */
  usage: NodeJS.CpuUsage;
}

export interface JudgeOptions {
  /** Rows that the owner adds; read when something is judged, because the configuration may change. */
  programs?: (() => Programs) | undefined;
  /** Of the thread's own time: on a busy machine it may take longer, up to ten times as long. */
  deadlineMs?: number | undefined;
}

/**
 * Judges in a thread of its own, one action at a time, so that no text holds up anything else. Sessions take turns: at
 * most one action of each is in line for the thread. Security: a thread that takes too long, dies or cannot be started
 * means that a person is asked.
 */
export class JudgeThread implements Policy {
  readonly #programs: () => Programs;
  readonly #deadlineMs: number;
  #worker: Worker | undefined;
  /** Of the worker, when its last answer came. */
  #usage: NodeJS.CpuUsage = { user: 0, system: 0 };
  /** The line for the thread. */
  readonly #line = new Lane();
  /** Security: actions of one session wait here for each other, so that they are not all ahead of another session's. */
  readonly #sessions = new Lanes<string>();

  constructor({ programs = () => ({}), deadlineMs = 500 }: JudgeOptions = {}) {
    this.#programs = programs;
    this.#deadlineMs = deadlineMs;
  }

  async judge(action: JudgedAction, context: JudgeContext): Promise<Verdict> {
    // The sandbox is the boundary: there is nothing to judge.
    if (context.disposable && context.hostPaths.length === 0) return { kind: 'allow' };
    return await this.#sessions.run(context.session, () => this.#line.run(() => this.#judgeNext(action, context)));
  }

  async #judgeNext(action: JudgedAction, context: JudgeContext): Promise<Verdict> {
    try {
      const worker = await this.#thread();
      return await this.#answerOf(worker, { action, context, programs: this.#programs() });
    } catch {
      return undecided();
    }
  }

  async #answerOf(worker: Worker, request: Request): Promise<Verdict> {
    // The program does not end while something is judged.
    worker.ref();
    const answered = new AbortController();
    const late = new AbortController();
    try {
      worker.postMessage(request);
      void this.#deadlineOf(worker, answered.signal).then(() => late.abort());
      const [{ verdict, usage }] = (await once(worker, 'message', { signal: late.signal })) as [Answer];
      this.#usage = usage;
      return verdict ?? undecided();
    } catch (error) {
      this.#end(worker);
      throw error;
    } finally {
      answered.abort();
      worker.unref();
    }
  }

  /** Resolves when the thread has used up its time, and what it has sent until then was read. */
  async #deadlineOf(worker: Worker, answered: AbortSignal): Promise<void> {
    const endsAt = performance.now() + busyFactor * this.#deadlineMs;
    const before = this.#usage;
    try {
      for (let leftMs = this.#deadlineMs; ; ) {
        await delay(leftMs, undefined, { signal: answered });
        const { user, system } = await within(Math.max(0, endsAt - performance.now()), worker.cpuUsage(before), () => ({
          user: Infinity,
          system: 0,
        }));
        leftMs = Math.min(this.#deadlineMs - (user + system) / 1_000, endsAt - performance.now());
        if (leftMs <= 0) break;
      }
    } catch {
      // It was answered, or the thread has ended.
    }
    // An answer that came while this thread was busy is in time: messages are read after timers.
    await turnOfLoop();
  }

  /** The thread, once it has read the tables, which the deadline does not count. */
  async #thread(): Promise<Worker> {
    if (this.#worker) return this.#worker;
    // The same file ending as this one: source or build.
    const worker = new Worker(new URL(`./worker${extname(import.meta.url)}`, import.meta.url));
    // A thread that dies while nothing is judged is started anew by the next action.
    worker.on('error', () => this.#end(worker)).on('exit', () => this.#end(worker));
    try {
      const [{ usage }] = (await once(worker, 'message', { signal: AbortSignal.timeout(startMs) })) as [Answer];
      this.#usage = usage;
    } catch (error) {
      this.#end(worker);
      throw error;
    }
    this.#worker = worker;
    return worker;
  }

  #end(worker: Worker): void {
    void worker.terminate();
    if (this.#worker === worker) this.#worker = undefined;
  }
}

/** How much longer than its own time the thread may take. */
const busyFactor = 10;
/** A machine may be so busy that reading the tables takes a while. */
const startMs = 60_000;
const reason = 'shell/too-complex';

function undecided(): Verdict {
  const { title, why } = rules[reason];
  return { kind: 'ask', findings: [{ rule: reason, title, why, program: undefined }] };
}
