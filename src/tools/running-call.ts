import type { WaitKind } from '../core/waits.ts';

/** A call that has not come to an end, for people who want to know what runs, or why nothing does. */
export class RunningCall {
  readonly tool: string;
  /** The command, the code or the path, without secrets. */
  readonly text: string;
  /** The durable name of the call, where it has one. */
  readonly run: string | undefined;
  readonly #waits = new Set<{ kind: WaitKind; since: Date }>();
  #beganAt = new Date();

  constructor(tool: string, text: string, run: string | undefined) {
    this.tool = tool;
    this.text = text;
    this.run = run;
  }

  /** undefined while it runs. Of several waits at once the newest counts. */
  get waitsFor(): WaitKind | undefined {
    return [...this.#waits].at(-1)?.kind;
  }

  /** When it began to wait, or to run. */
  get since(): Date {
    return [...this.#waits].at(-1)?.since ?? this.#beganAt;
  }

  /** It was allowed, and runs from now on. */
  begin(): void {
    this.#beganAt = new Date();
  }

  /** It waits until the function that it returns is called. */
  waiting(kind: WaitKind): () => void {
    const wait = { kind, since: new Date() };
    this.#waits.add(wait);
    return () => void this.#waits.delete(wait);
  }

  async during<T>(kind: WaitKind, work: Promise<T>): Promise<T> {
    const over = this.waiting(kind);
    try {
      return await work;
    } finally {
      over();
    }
  }
}
