import type { OpenListener } from '../../core/sandbox.ts';

/** Keeps what there is to tell about a sandbox until there is somebody to tell. */
export class HeldListener implements OpenListener {
  readonly #held: string[] = [];
  #listener: OpenListener | undefined;

  notice(text: string): void {
    if (this.#listener) this.#listener.notice(text);
    else this.#held.push(text);
  }

  progress(text: string): void {
    this.#listener?.progress(text);
  }

  /** From now on this one is told, and first all that was kept. */
  handTo(listener: OpenListener): void {
    this.#listener = listener;
    for (const text of this.#held.splice(0)) listener.notice(text);
  }
}
