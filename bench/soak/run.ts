import { setTimeout as sleep } from 'node:timers/promises';
import type { Crowd } from './crowd.ts';
import type { SoakOptions } from './options.ts';
import { residentBytes } from './process-facts.ts';
import type { Subject } from './subject.ts';

/** Of what the bot sent, so much stays; the rest does not change any more. */
const keptMessages = 2000;
const forgetEveryMs = 500;
const progressEveryMs = 10_000;
/** After work, the gateway gives memory back at the second look at whether there is more. */
const restMs = 18_000;

/** What all lanes of one run have in common. */
export interface Run {
  options: SoakOptions;
  random: () => number;
  /** Fires when the run is to end before its time. */
  signal: AbortSignal;
  progress: (text: string) => void;
}

/** Tells how far a lane is, and throws away what the fakes keep, so that it can go on for hours. */
export class Housekeeping {
  /** What the lane does now. */
  phase = 'start';
  readonly #subject: Subject;
  readonly #crowd: Crowd;
  readonly #run: Run;
  readonly #timers: readonly NodeJS.Timeout[];
  readonly #stop = (): void => this.#crowd.fail(new Error('The run was ended.'));

  constructor(name: string, { subject, crowd, run }: { subject: Subject; crowd: Crowd; run: Run }) {
    this.#subject = subject;
    this.#crowd = crowd;
    this.#run = run;
    const progress = (): void => {
      const mebibytes = (residentBytes(subject.program.pid) / 1024 / 1024).toFixed(0);
      run.progress(`${name}, ${this.phase}: ${crowd.ledger.asked} messages, RSS ${mebibytes} MiB`);
    };
    this.#timers = [setInterval(() => this.#forget(keptMessages), forgetEveryMs), setInterval(progress, progressEveryMs)];
    run.signal.addEventListener('abort', this.#stop);
  }

  /** Says what comes now, and waits. */
  async rest(phase: string, forMs = restMs): Promise<void> {
    this.phase = phase;
    await sleep(forMs, undefined, { signal: this.#run.signal });
  }

  /** Counts all that was sent. */
  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#run.signal.removeEventListener('abort', this.#stop);
    this.#forget(0);
  }

  #forget(keep: number): void {
    const { api, model } = this.#subject.program;
    const { sent } = api.world;
    for (const message of sent.slice(0, Math.max(0, sent.length - keep))) this.#crowd.settle(message);
    api.forget(keep);
    model.forget();
  }
}
