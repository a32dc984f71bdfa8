import type { ChannelState, Linking } from '../core/channel.ts';

/** The state of a channel, made of its current failures: up when there are none. */
export class Health {
  readonly #name: string;
  readonly #log: (sentence: string) => void;
  readonly #troubles = new Map<string, string>();
  #link: Linking | undefined;
  #state: ChannelState = { kind: 'stopped' };

  constructor(name: string, log: (sentence: string) => void) {
    this.#name = name;
    this.#log = log;
  }

  get state(): ChannelState {
    return this.#state;
  }

  starting(): void {
    this.#troubles.clear();
    this.#link = undefined;
    this.#state = { kind: 'starting' };
  }

  stopped(): void {
    this.#state = { kind: 'stopped' };
  }

  /** It cannot work, and does not try to. */
  failed(reason: string): void {
    this.#state = { kind: 'down', since: new Date(), reason };
  }

  /** An account has to be linked, until something is reported of the connection. Security: what is needed for that is in the state only. */
  linking(link: Pick<Linking, 'reason' | 'qr' | 'code'>): void {
    if (this.#state.kind === 'stopped') return;
    if (!this.#link) this.#log(`${this.#name} waits to be linked to an account.`);
    this.#link = { kind: 'linking', since: this.#link?.since ?? new Date(), ...link };
    this.#troubles.delete('connection');
    this.#show();
  }

  /** A trouble of one kind begins, changes, or with undefined ends. A channel that was stopped has no troubles. */
  report(kind: string, reason: string | undefined): void {
    if (this.#state.kind === 'stopped') return;
    if (reason === undefined) this.#troubles.delete(kind);
    else this.#troubles.set(kind, reason);
    if (kind === 'connection') this.#link = undefined;
    this.#show();
  }

  #show(): void {
    const [first] = this.#troubles.values();
    if (first !== undefined) this.#down(first);
    else if (this.#link) this.#state = this.#link;
    else this.#up();
  }

  #up(): void {
    if (this.#state.kind === 'up') return;
    if (this.#state.kind === 'down') this.#log(`${this.#name} is up again.`);
    this.#state = { kind: 'up', since: new Date() };
  }

  #down(reason: string): void {
    const previous = this.#state;
    if (previous.kind === 'down' && previous.reason === reason) return;
    this.#log(`${this.#name} is down: ${reason}`);
    this.#state = { kind: 'down', since: previous.kind === 'down' ? previous.since : new Date(), reason };
  }
}
