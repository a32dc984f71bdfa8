import type { PageVisitor, SignInLedger } from '../core/sign-ins.ts';
import { Rate } from '../lib/rate.ts';

const recordsPerMinute = 6;

/**
 * Records of those who were not let in. Security: an attacker who comes often does not fill the log; the next record
 * tells how many had none.
 */
export class RefusedVisits {
  readonly #signIns: SignInLedger;
  readonly #rate = new Rate(recordsPerMinute);
  #unrecorded = 0;

  constructor(signIns: SignInLedger) {
    this.#signIns = signIns;
  }

  /** Never rejects: nothing was done that needs a record before. */
  async note(visitor: PageVisitor, why: string): Promise<void> {
    this.#unrecorded += 1;
    if (this.#rate.take('everybody') > 0) return;
    const others = this.#unrecorded - 1;
    this.#unrecorded = 0;
    await this.#signIns.refused(visitor, why, others, new Date()).catch(() => {
      this.#unrecorded += others + 1;
    });
  }
}
