import type { ExecHandle, Sandbox } from '../core/sandbox.ts';
import { within } from '../lib/deadline.ts';
import { errorText } from '../lib/error-text.ts';
import { guestBash } from '../lib/guest-files.ts';
import { AnswerReader, type ProbeRecord } from './answer-reader.ts';

/** Starts a script of `guest/` inside, without the session's state; `mark` is on its command line, where the host can find it. */
export async function startScript(sandbox: Sandbox, name: string, mark: string): Promise<ExecHandle> {
  const [command, script] = await Promise.all([guestBash('proof-start'), guestBash(name)]);
  return await sandbox.exec({ command, args: [script, mark], cwd: '/', stdin: 'open', plain: true });
}

export interface Answer {
  outcome: string;
  detail: string;
}

/** Facts that the probe reported before the first question: several values where a fact has several lines. */
export type Facts = ReadonlyMap<string, readonly string[]>;

/**
 * The probe inside, which answers questions one after another. It is not believed: what does not look like an answer to the question that
 * was asked ends the conversation, and from then on nothing is answered.
 */
export class Inside {
  readonly facts: Facts;
  readonly #handle: ExecHandle | undefined;
  readonly #facts = new Map<string, string[]>();
  readonly #pending: { id: string; resolve(answer: Answer | undefined): void }[] = [];
  readonly #ready = Promise.withResolvers<void>();
  readonly #timer: NodeJS.Timeout | undefined;
  #isReady = false;
  #asked = 0;
  /** Why the conversation ended before its end. */
  #failure: string | undefined;
  #ended = false;

  private constructor(handle: ExecHandle | undefined, timeoutMs: number) {
    this.#handle = handle;
    this.facts = this.#facts;
    if (handle) this.#timer = setTimeout(() => this.#fail(`did not answer within ${timeoutMs / 1000} s`), timeoutMs);
  }

  /** Resolves when the probe is ready or has failed; never rejects. */
  static async start(sandbox: Sandbox, mark: string, timeoutMs: number): Promise<Inside> {
    try {
      const starting = startScript(sandbox, 'proof', mark);
      const handle = await within({ ms: timeoutMs, ref: false }, starting, () => {
        void starting.then((late) => late.kill('KILL')).catch(() => undefined);
        throw new Error(`nothing happened for ${timeoutMs / 1000} s`);
      });
      const inside = new Inside(handle, timeoutMs);
      void inside.#read();
      await inside.#ready.promise;
      return inside;
    } catch (error) {
      const inside = new Inside(undefined, timeoutMs);
      inside.#fail(`could not be started: ${errorText(error)}`);
      return inside;
    }
  }

  get failure(): string | undefined {
    return this.#failure;
  }

  fact(name: string): string | undefined {
    return this.#facts.get(name)?.[0];
  }

  /** undefined when there is no answer, or none that can be one. */
  async ask(verb: string, ...words: string[]): Promise<Answer | undefined> {
    if (this.#failure !== undefined || !this.#handle || this.#ended) return undefined;
    this.#asked += 1;
    const id = String(this.#asked);
    const { promise, resolve } = Promise.withResolvers<Answer | undefined>();
    this.#pending.push({ id, resolve });
    void this.#handle.write([verb, id, ...words].map((word) => `${word}\0`).join('')).catch(() => undefined);
    return await promise;
  }

  /** Resolves when the probe has ended, by itself or by force. */
  async end(): Promise<void> {
    await this.ask('end');
    this.#ended = true;
    await this.#handle?.exit;
    // Then they are not told to the next command, as its own.
    await this.#handle?.connections();
    clearTimeout(this.#timer);
  }

  async #read(): Promise<void> {
    const reader = new AnswerReader();
    try {
      for await (const { stream, data } of this.#handle?.output ?? []) {
        if (stream === 'stderr' || this.#failure !== undefined) continue;
        const read = reader.add(data);
        for (const record of read.records) this.#receive(record);
        if (read.problem !== undefined) this.#fail(read.problem);
      }
      if (this.#pending.length > 0 || this.#asked === 0) this.#fail('ended before it had answered');
    } catch (error) {
      this.#fail(errorText(error));
    }
  }

  #receive(record: ProbeRecord): void {
    if (this.#failure !== undefined) return;
    if (record.kind === 'fact' && !this.#isReady) {
      const values = this.#facts.get(record.name);
      if (values) values.push(record.value);
      else this.#facts.set(record.name, [record.value]);
    } else if (record.kind === 'ready' && !this.#isReady) {
      this.#isReady = true;
      this.#ready.resolve();
    } else if (record.kind === 'answer' && this.#pending[0]?.id === record.id) {
      this.#pending.shift()?.resolve({ outcome: record.outcome, detail: record.detail });
    } else this.#fail('answered what was not asked');
  }

  #fail(reason: string): void {
    if (this.#failure !== undefined) return;
    this.#failure = reason;
    clearTimeout(this.#timer);
    for (const { resolve } of this.#pending.splice(0)) resolve(undefined);
    this.#ready.resolve();
    void this.#handle?.kill('KILL').catch(() => undefined);
  }
}
