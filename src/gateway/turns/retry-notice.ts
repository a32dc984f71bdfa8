/** Tells people once that a model is asked again and again, and why, when it has not answered for a while. */
export class RetryNotice {
  readonly #afterMs: number;
  readonly #tell: (reason: string) => void;
  #quietSince = Date.now();
  #reason = '';
  #timer: NodeJS.Timeout | undefined;
  #isSent = false;

  constructor(afterMs: number, tell: (reason: string) => void) {
    this.#afterMs = afterMs;
    this.#tell = tell;
  }

  /** It failed, and is asked again. */
  failed(reason: string): void {
    this.#reason = reason;
    if (this.#isSent) return;
    this.#timer ??= setTimeout(
      () => {
        this.#isSent = true;
        this.#tell(this.#reason);
      },
      Math.max(0, this.#quietSince + this.#afterMs - Date.now()),
    );
  }

  /** It answers, or something else goes on. */
  answered(): void {
    this.#quietSince = Date.now();
    this.stop();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
