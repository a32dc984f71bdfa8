import type { OpenListener } from '../../core/sandbox.ts';

/** Keeps notices about a sandbox until there is a listener for them. */
export class HeldListener implements OpenListener {
  readonly #held: Parameters<OpenListener['notice']>[] = [];
  #listener: OpenListener | undefined;

  notice(...said: Parameters<OpenListener['notice']>): void {
    if (this.#listener) this.#listener.notice(...said);
    else this.#held.push(said);
  }

  progress(text: string): void {
    this.#listener?.progress(text);
  }

  /** From now on this one is told, and first all that was kept. */
  handTo(listener: OpenListener): void {
    this.#listener = listener;
    for (const said of this.#held.splice(0)) listener.notice(...said);
  }
}
