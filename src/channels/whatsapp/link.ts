import { backoffMs } from '../../lib/backoff.ts';
import { within } from '../../lib/deadline.ts';
import { errorText } from '../../lib/error-text.ts';
import { pause } from '../../lib/pause.ts';
import type { Health } from '../health.ts';
import type { Account } from './account.ts';
import { busy, refusals, statuses } from './failures.ts';
import { Wire, type WireParts } from './wire.ts';

export interface LinkParts extends Pick<WireParts, 'baileys' | 'apiRoot' | 'encryption'> {
  account: Account;
  health: Health;
  log: (sentence: string) => void;
  /** The digits of a phone number: links with a code and not with a QR code. */
  pairWith: string | undefined;
  signal: AbortSignal;
}

const pauses = { firstMs: 500, maxMs: 60_000, isSpread: true };
const refusedPauses = { firstMs: 30_000, maxMs: 600_000 };
/** The phone shows a notice with every code. */
const codePauses = { firstMs: 60_000, maxMs: 3_600_000 };
/** A new QR code comes when all those of a connection are used up. */
const offerPauses = { firstMs: 1000, maxMs: 30_000 };
/** WhatsApp asks for a new connection after linking, and others may break at once; after so many in a row there is a pause. */
const maxShort = 3;
const shortMs = 5_000;
/** How long a message waits for a connection that is being made. */
const readyMs = 15_000;

type Outcome = Wire | { reason: string };

/** Keeps a connection to WhatsApp until the signal, and links an account when there is none. */
export class Link {
  readonly #parts: LinkParts;
  readonly #tried = Promise.withResolvers<void>();
  #wire: Wire | undefined;
  #next = Promise.withResolvers<Outcome>();
  #failures = 0;
  #refusals = 0;
  /** Connections in a row that were open for a moment only. */
  #short = 0;
  #openedAt: number | undefined;
  /** Codes that were offered and not used. */
  #offers = 0;
  /** Why the last account is gone. */
  #notice: string | undefined;

  constructor(parts: LinkParts) {
    this.#parts = parts;
  }

  /** Resolves when the first try has succeeded or failed, or a code is there. */
  get tried(): Promise<void> {
    return this.#tried.promise;
  }

  /** A connection that works. Rejects as busy when there is none and none comes soon. */
  async ready(signal: AbortSignal | undefined): Promise<Wire> {
    signal?.throwIfAborted();
    const { account } = this.#parts;
    if (this.#wire?.isOpen) return this.#wire;
    if (!account.isLinked) throw busy('WhatsApp is not linked to an account yet.');
    const none = { reason: 'WhatsApp: no connection.' };
    const outcome = this.#failures > 1 || this.#refusals > 0 ? none : await within({ ms: readyMs, signal }, this.#next.promise, () => none);
    signal?.throwIfAborted();
    if (outcome instanceof Wire) return outcome;
    throw busy(outcome.reason);
  }

  /** Never rejects. */
  async run(): Promise<void> {
    const { signal } = this.#parts;
    while (!signal.aborted) {
      await pause(this.#pauseMs(), signal);
      if (signal.aborted) break;
      await this.#serve().catch((error: unknown) => this.#failed(`WhatsApp: ${errorText(error)}`));
    }
    this.#settle({ reason: 'WhatsApp is stopped.' });
    this.#tried.resolve();
  }

  #pauseMs(): number {
    if (this.#refusals > 0) return backoffMs(this.#refusals, refusedPauses);
    const { account, pairWith } = this.#parts;
    if (this.#offers > 0 && !account.isLinked) return backoffMs(this.#offers, pairWith === undefined ? offerPauses : codePauses);
    const failures = Math.max(this.#failures - 1, this.#short - maxShort);
    return failures > 0 ? backoffMs(failures, pauses) : 0;
  }

  async #serve(): Promise<void> {
    const { account, health, signal } = this.#parts;
    const isLinking = !account.isLinked;
    const credentials = account.credentials();
    this.#failures += 1;
    if (isLinking && this.#failures === 1) health.linking({ reason: this.#notice });
    let hasCode = false;
    let isOffered = false;
    this.#openedAt = undefined;
    const wire: Wire = new Wire({
      ...this.#parts,
      credentials,
      keys: account.keyStore(this.#parts.encryption.keep),
      onOpen: () => this.#opened(wire),
      onQr: (qr) => {
        if (hasCode) return;
        hasCode = this.#parts.pairWith !== undefined;
        isOffered = true;
        void this.#offerLink(wire, qr);
      },
      onCredentials: () => void account.keep(credentials).catch(() => undefined),
    });
    this.#wire = wire;
    const stop = (): void => void wire.close();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const status = await wire.ended;
    signal.removeEventListener('abort', stop);
    this.#wire = undefined;
    if (isOffered) this.#offers += 1;
    if (!signal.aborted) await this.#ended(status, isLinking);
  }

  #opened(wire: Wire): void {
    this.#failures = 0;
    this.#offers = 0;
    this.#openedAt = Date.now();
    this.#notice = undefined;
    this.#parts.health.report('connection', undefined);
    this.#settle(wire);
    this.#tried.resolve();
  }

  /** Security: the code goes to the state, which the owner alone sees, and nowhere else. */
  async #offerLink(wire: Wire, qr: string): Promise<void> {
    const { health, pairWith } = this.#parts;
    this.#failures = 0;
    if (pairWith === undefined) health.linking({ qr, reason: this.#notice });
    else {
      const code = await wire.ask((socket) => socket.requestPairingCode(pairWith)).catch(() => undefined);
      if (code !== undefined) health.linking({ code: `${code.slice(0, 4)}-${code.slice(4)}`, reason: this.#notice });
    }
    this.#tried.resolve();
  }

  async #ended(status: number | undefined, wasLinking: boolean): Promise<void> {
    const { account, health, log } = this.#parts;
    const isLong = this.#openedAt !== undefined && Date.now() - this.#openedAt >= shortMs;
    if (isLong) {
      this.#short = 0;
      this.#refusals = 0;
    } else if (this.#openedAt !== undefined || status === statuses.restart) this.#short += 1;
    if (status === statuses.restart) {
      this.#failures = 0;
      return;
    }
    const refusal = status === undefined ? undefined : refusals.get(status);
    if (wasLinking && refusal === undefined && this.#failures <= 1) {
      // The code that it showed is good for nothing now.
      if (!account.isLinked) health.linking({ reason: this.#notice });
      return;
    }
    if (status === statuses.loggedOut && account.isLinked) {
      this.#notice = 'WhatsApp logged this device out, on the phone or because it was away for too long. Link it again.';
      log(`WhatsApp is down: ${this.#notice}`);
      await account.forget().catch(() => undefined);
      this.#failures = 0;
      this.#settle({ reason: this.#notice });
      return;
    }
    if (refusal !== undefined) this.#refusals += 1;
    // A connection that ends once is replaced at once; that alone is no failure.
    if (refusal !== undefined || this.#failures > 1) this.#failed(refusal ?? 'WhatsApp: no connection.');
  }

  #failed(reason: string): void {
    this.#parts.health.report('connection', reason);
    this.#settle({ reason });
    this.#tried.resolve();
  }

  #settle(outcome: Outcome): void {
    this.#next.resolve(outcome);
    this.#next = Promise.withResolvers();
  }
}
