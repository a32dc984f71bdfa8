import { maxLeaseMs, type SandboxEntry, type SandboxKey, type SandboxLedger } from '../core/store.ts';
import { lifeOf, processName } from '../lib/process-name.ts';

/** So often, that a busy machine may miss some. */
const renewalsPerLease = 4;

/**
 * Whether a program has the sandbox: its lease runs, and the program is not known to be dead. That a program lives is no reason: one whose lease is over
 * did not run for long, and finds out when it does.
 */
export function isHeld({ owner, leaseUntil }: SandboxEntry): boolean {
  return leaseUntil !== undefined && (owner === undefined || lifeOf(owner) !== 'dead');
}

/** The right of this program to one sandbox, renewed until it is given up. Does not keep the program running. */
export class Lease {
  readonly owner = processName();
  readonly leaseMs: number;
  readonly #key: SandboxKey;
  #timer: NodeJS.Timeout | undefined;
  #renewing: Promise<void> | undefined;

  constructor(key: SandboxKey, leaseMs = maxLeaseMs) {
    this.#key = key;
    this.leaseMs = leaseMs;
  }

  /**
   * Renews it from now on. `removed` is called once, when the sandbox is not in the ledger any more: this program did not run for so long that
   * another one took it for left behind. One that is not `shared` ends when the sandbox is opened again.
   */
  keep(ledger: SandboxLedger, { shared, removed }: { shared: boolean; removed(): void }): void {
    const renew = async (): Promise<void> => {
      const owner = await ledger.renew(this.#key, this, new Date());
      const isOver = owner === undefined || (!shared && owner !== this.owner);
      if (!isOver || this.#timer === undefined) return;
      void this.giveUp();
      if (owner === undefined) removed();
    };
    this.#timer = setInterval(() => {
      // A store that does not answer is asked again the next time.
      this.#renewing ??= renew()
        .catch(() => undefined)
        .finally(() => {
          this.#renewing = undefined;
        });
    }, this.leaseMs / renewalsPerLease).unref();
  }

  /** Resolves when it will not be renewed any more. */
  async giveUp(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#renewing;
  }
}
