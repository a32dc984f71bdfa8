import { accountId } from './ids.ts';

/** As the daemon names somebody in a message. */
export interface Named {
  uuid: string | undefined;
  number: unknown;
}

/** Our own account. Its id becomes known with the first message that names it. */
export class Self {
  readonly account: string;
  #uuid: string | undefined;

  constructor(account: string) {
    this.account = account;
    this.#uuid = accountId(account);
  }

  get uuid(): string | undefined {
    return this.#uuid;
  }

  learn(uuid: unknown): void {
    this.#uuid ??= accountId(uuid);
  }

  is({ uuid, number }: Named): boolean {
    if (number === this.account) this.learn(uuid);
    return number === this.account || (uuid !== undefined && uuid === this.#uuid);
  }
}
