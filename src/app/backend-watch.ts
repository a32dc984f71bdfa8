import { errorText } from '../lib/error-text.ts';
import type { App } from './app.ts';
import { sandboxStatusLines } from './status/sandbox-status.ts';

/** How often a backend is looked for while none works. */
export const lookAgainMs = 30_000;

/** The findings of the start of the gateway. */
export interface Found {
  /** Whether a backend worked. */
  works: boolean;
  /** Whether `sandboxes.start` did then what it does. */
  isSwept: boolean;
}

/** While no backend works, looks for one again and again, and begins with sandboxes as soon as there is one. */
export class BackendWatch {
  readonly #app: App;
  readonly #log: (line: string) => void;
  #works: boolean;
  #isSwept: boolean;
  #told = '';

  constructor(app: App, { works, isSwept }: Found, log: (line: string) => void) {
    this.#app = app;
    this.#log = log;
    this.#works = works;
    this.#isSwept = works && isSwept;
  }

  /** Never rejects. */
  async look(): Promise<void> {
    try {
      const { sandboxStatus, sandboxes } = this.#app;
      const { lastKnown } = sandboxStatus;
      // One that works is not tried for this: a try opens a sandbox.
      const { status } = lastKnown?.status.backend ? lastKnown : await sandboxStatus.checkNow();
      const worked = this.#works;
      this.#works = status.backend !== undefined;
      if (worked !== this.#works) for (const line of sandboxStatusLines(this.#app, status)) this.#log(line);
      if (!this.#works) this.#isSwept = false;
      if (!this.#works || this.#isSwept) return;
      await sandboxes.start();
      this.#isSwept = true;
      this.#told = '';
    } catch (error) {
      this.#tell(`${this.#works ? 'nothing was swept' : 'whether commands can run could not be found out'}: ${errorText(error)}`);
    }
  }

  /** A failure is told once, and tried again each time. */
  #tell(line: string): void {
    if (line !== this.#told) this.#log(line);
    this.#told = line;
  }
}
