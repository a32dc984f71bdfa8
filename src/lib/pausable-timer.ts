/** A time limit that stands still while it is paused. */
export class PausableTimer {
  #onTime: (() => void) | undefined;
  #leftMs = 0;
  #startedAt = 0;
  #pauses = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Calls this once, after the time. */
  start(ms: number, onTime: () => void): void {
    this.#leftMs = ms;
    this.#onTime = onTime;
    this.#run();
  }

  /** Until the function it returns is called. Several pauses end with the last of them. */
  pause(): () => void {
    this.#pauses += 1;
    if (this.#pauses === 1 && this.#timer) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#leftMs -= performance.now() - this.#startedAt;
    }
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#pauses -= 1;
      this.#run();
    };
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#onTime = undefined;
  }

  #run(): void {
    if (this.#pauses > 0 || this.#onTime === undefined) return;
    this.#startedAt = performance.now();
    this.#timer = setTimeout(() => {
      const onTime = this.#onTime;
      this.stop();
      onTime?.();
    }, this.#leftMs);
  }
}
