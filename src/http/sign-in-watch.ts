import type { SignIn, SignInLedger } from '../core/sign-ins.ts';

/** The command line of another process may end a sign-in. */
const lookMs = 500;

interface Open {
  ended: AbortController;
  uses: number;
}

/** Ends what is open for a browser, such as a stream of events, when its sign-in ends. */
export class SignInWatch {
  readonly #signIns: SignInLedger;
  /** By the id of the sign-in. */
  readonly #open = new Map<string, Open>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  constructor(signIns: SignInLedger) {
    this.#signIns = signIns;
  }

  /** Aborts when the sign-in has ended. `release` is called when nothing needs that any more. */
  watch({ id }: Pick<SignIn, 'id'>): { signal: AbortSignal; release: () => void } {
    const open = this.#open.get(id) ?? { ended: new AbortController(), uses: 0 };
    open.uses += 1;
    this.#open.set(id, open);
    this.#timer ??= setInterval(() => {
      if (this.#looking === undefined) void this.look();
    }, lookMs).unref();
    let isReleased = false;
    const release = (): void => {
      if (isReleased) return;
      isReleased = true;
      open.uses -= 1;
      if (open.uses === 0 && this.#open.get(id) === open) this.#forget(id);
    };
    return { signal: open.ended.signal, release };
  }

  /** Resolves when what has ended by now is ended here too. */
  async look(): Promise<void> {
    // One that is under way may have begun before the end.
    await this.#looking;
    const looking = this.#look();
    this.#looking = looking;
    await looking;
    if (this.#looking === looking) this.#looking = undefined;
  }

  async #look(): Promise<void> {
    // Security: who cannot be looked up is not followed; the page asks again, and is answered by the guard.
    const signIns = await this.#signIns.list(new Date()).catch(() => []);
    const inForce = new Set(signIns.map(({ id }) => id));
    for (const [id, { ended }] of this.#open) {
      if (inForce.has(id)) continue;
      this.#forget(id);
      ended.abort();
    }
  }

  #forget(id: string): void {
    this.#open.delete(id);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
