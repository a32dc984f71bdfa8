import { errorText } from '../lib/error-text.ts';
import type { App } from './app.ts';
import { sandboxStatusLines } from './status/sandbox-status.ts';

/** How often a backend is looked for while none works. */
export const lookAgainMs = 30_000;

/** While no backend works, looks for one again and again, and begins with sandboxes as soon as there is one. */
export class BackendWatch {
  readonly #app: App;
  readonly #log: (line: string) => void;
  #works: boolean;

  constructor(app: App, log: (line: string) => void) {
    this.#app = app;
    this.#log = log;
    this.#works = app.sandboxStatus.lastKnown?.status.backend !== undefined;
  }

  /** Never rejects. */
  async look(): Promise<void> {
    try {
      const { sandboxStatus } = this.#app;
      const { lastKnown } = sandboxStatus;
      // One that works is not tried for this: a try opens a sandbox.
      const { status } = lastKnown?.status.backend ? lastKnown : await sandboxStatus.checkNow();
      const worked = this.#works;
      this.#works = status.backend !== undefined;
      if (worked === this.#works) return;
      for (const line of sandboxStatusLines(this.#app, status)) this.#log(line);
      if (this.#works) await this.#app.sandboxes.start();
    } catch (error) {
      this.#log(`whether commands can run could not be found out: ${errorText(error)}`);
    }
  }
}
