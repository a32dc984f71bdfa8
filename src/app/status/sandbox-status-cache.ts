import { HermeticError } from '../../core/errors.ts';
import type { Backend } from '../../core/sandbox.ts';
import { errorText } from '../../lib/error-text.ts';
import { latestProof } from '../../sandboxes/prove-backend.ts';
import type { SandboxRequest } from '../../sandboxes/request.ts';
import type { App } from '../app.ts';
import { findSandboxStatus, type SandboxStatus, unsafeWarning } from './sandbox-status.ts';

/** The last result of a check. */
export interface KnownStatus {
  status: SandboxStatus;
  /** For people, when they would get the host. */
  warning: string | undefined;
}

const audience = 'messaging';
/** A backend that works is tried again after this time, once something asks; one that does not, sooner. */
const freshMs = 10 * 60 * 1000;
const retryMs = 30 * 1000;

/**
 * The status of the sandboxes of messaging sessions. A check opens a throw-away sandbox, so there is one at the start, and later ones
 * in the background: readers get the last result. There is at most one check in flight.
 */
export class SandboxStatusCache {
  readonly #app: App;
  #known: KnownStatus | undefined;
  #knownAt = 0;
  #checking: Promise<KnownStatus> | undefined;
  /** Counts changes of the settings: a check that began before one is done again. */
  #settings = 0;
  /** The result is about earlier settings. */
  #isOutdated = false;

  constructor(app: App) {
    this.#app = app;
  }

  /** Waits for a check only when nothing is known about the settings in force. Rejects when the first check fails. */
  async latest(): Promise<KnownStatus> {
    return this.#isOutdated ? await this.#check() : await this.known();
  }

  /** The same without waiting after a change of the settings: for a moment it may tell of those before. */
  async known(): Promise<KnownStatus> {
    const known = this.#known;
    if (!known) return await this.#check();
    const isOld = Date.now() - this.#knownAt > (known.status.backend ? freshMs : retryMs);
    if (isOld) this.#refresh();
    return known;
  }

  /** Without a check. undefined before the first one has ended. */
  get lastKnown(): KnownStatus | undefined {
    return this.#known;
  }

  /** The result of a check that begins now, or is under way. Rejects when that fails. */
  async checkNow(): Promise<KnownStatus> {
    return await this.#check();
  }

  settingsChanged(): void {
    this.#settings += 1;
    if (!this.#known && !this.#checking) return;
    this.#isOutdated = true;
    this.#refresh();
  }

  /** A sandbox was opened on this backend, or could not be opened (undefined). When that contradicts the known status, a check begins. */
  opened(request: SandboxRequest, backend: Backend | undefined): void {
    if (request.audience !== audience || request.backend !== undefined) return;
    if (this.#known && (backend === undefined || backend !== this.#known.status.backend)) this.#refresh();
  }

  /** Never rejects. */
  async proofStored(): Promise<void> {
    await this.settled();
    const known = this.#known;
    if (!known?.status.backend) return;
    // A proof that cannot be read now is read by the next check.
    const proof = await latestProof(this.#app.deps, known.status.backend, audience).catch(() => known.status.proof);
    if (this.#known === known) this.#known = { ...known, status: { ...known.status, proof } };
  }

  /** Resolves when no check is in flight. Never rejects. */
  async settled(): Promise<void> {
    await this.#checking?.catch(() => undefined);
  }

  /** In the background. Why it failed is told to those who wait for it; the next reader tries again. */
  #refresh(): void {
    this.#check().catch(() => undefined);
  }

  #check(): Promise<KnownStatus> {
    this.#checking ??= this.#untilCurrent().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  async #untilCurrent(): Promise<KnownStatus> {
    for (;;) {
      const settings = this.#settings;
      const known = await this.#find();
      if (settings !== this.#settings) continue;
      this.#known = known;
      this.#knownAt = Date.now();
      this.#isOutdated = false;
      return known;
    }
  }

  async #find(): Promise<KnownStatus> {
    try {
      const status = await findSandboxStatus(this.#app, audience);
      return { status, warning: await unsafeWarning(this.#app, status) };
    } catch (error) {
      // At the start that is a reason not to start. Later it is why nothing can be run.
      if (!this.#known) throw error;
      const { backend: configured } = this.#app.settings(audience);
      const fix = (error instanceof HermeticError && error.hint) || '';
      const unusable = [{ backend: configured, reason: errorText(error), fix }];
      const nothing = { backend: undefined, image: undefined, enforcement: undefined, proof: undefined };
      return { status: { ...this.#known.status, configured, unusable, ...nothing }, warning: undefined };
    }
  }
}
