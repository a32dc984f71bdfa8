import type { OpenSandbox } from '../../core/sandbox.ts';

export interface SparesOptions<Spare> {
  /** How many to keep ready at this moment. */
  wanted(): number;
  /** Leaves nothing behind when it throws. */
  make(signal: AbortSignal): Promise<Spare>;
  /** Whether the settings would make the same sandbox now. */
  isCurrent(spare: Spare): Promise<boolean>;
  /** One could not be destroyed: it may run on. It is in the ledger, and swept later. */
  left(spare: Spare): void;
}

/**
 * Open sandboxes that belong to no session yet. Made one after another in the background; each is given away once or destroyed. No session waits for one,
 * and one that cannot be made is tried again when the next is wanted.
 */
export class Spares<Spare extends { sandbox: OpenSandbox }> {
  readonly #options: SparesOptions<Spare>;
  readonly #ready: Spare[] = [];
  readonly #offers = new Set<Promise<unknown>>();
  readonly #stopping = new AbortController();
  #filling: Promise<Error | undefined> | undefined;
  #making: AbortController | undefined;

  constructor(options: SparesOptions<Spare>) {
    this.#options = options;
  }

  get ready(): number {
    return this.#ready.length;
  }

  /** Resolves when there are enough, or with the reason why one could not be made. Never rejects. */
  fill(): Promise<Error | undefined> {
    this.#filling ??= this.#make().finally(() => {
      this.#filling = undefined;
    });
    return this.#filling;
  }

  async #make(): Promise<Error | undefined> {
    try {
      while (this.#ready.length < this.#options.wanted() && !this.#stopping.signal.aborted) {
        this.#making = new AbortController();
        const spare = await this.#options.make(AbortSignal.any([this.#stopping.signal, this.#making.signal]));
        this.#ready.push(spare);
        void spare.sandbox.ended.then(() => this.#giveUp(spare));
      }
      return undefined;
    } catch (error) {
      return error as Error;
    } finally {
      this.#making = undefined;
    }
  }

  /** Destroys those that are more than are wanted now, one that is being made included. Resolves when they are gone, as far as they can be. */
  async shrink(): Promise<void> {
    const { wanted } = this.#options;
    // An offered spare that no session takes is returned.
    await Promise.allSettled(this.#offers);
    while (this.#ready.length + (this.#making ? 1 : 0) > wanted()) {
      const spare = this.#ready.shift();
      if (!spare) break;
      await this.#destroy(spare);
    }
    if (!this.#making || this.#ready.length + 1 <= wanted()) return;
    this.#making.abort(new Error('its place is needed for a session'));
    await this.#filling;
    await this.shrink();
  }

  /** Never rejects: the session that needs its place is not concerned. */
  async #destroy(spare: Spare): Promise<void> {
    await spare.sandbox.destroy().catch(() => this.#options.left(spare));
  }

  /** For a spare that ended by itself. */
  async #giveUp(spare: Spare): Promise<void> {
    const place = this.#ready.indexOf(spare);
    if (place === -1) return;
    this.#ready.splice(place, 1);
    await spare.sandbox.destroy().catch(() => undefined);
  }

  /** Offers a spare. One that is not claimed is kept, or destroyed when it no longer matches the settings. */
  async offer<Claimed>(claim: (spare: Spare) => Promise<Claimed | undefined>): Promise<Claimed | undefined> {
    const offer = this.#offer(claim);
    this.#offers.add(offer);
    return await offer.finally(() => this.#offers.delete(offer));
  }

  async #offer<Claimed>(claim: (spare: Spare) => Promise<Claimed | undefined>): Promise<Claimed | undefined> {
    const spare = this.#ready.shift();
    if (!spare) return undefined;
    let claimed: Claimed | undefined;
    let isGood = false;
    try {
      claimed = await claim(spare);
      isGood = claimed !== undefined || (!this.#stopping.signal.aborted && (await this.#options.isCurrent(spare)));
    } finally {
      if (!isGood) await this.#destroy(spare);
      else if (claimed === undefined) this.#ready.unshift(spare);
    }
    return claimed;
  }

  /** Destroys all spares, one that is being made included. No more are made. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('no more sandboxes are needed'));
    await this.#filling;
    await Promise.all(this.#ready.splice(0).map((spare) => spare.sandbox.destroy()));
  }
}
