import { closeSync, fdatasync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import type { HermeticError } from '../../core/errors.ts';
import { errorText } from '../../lib/error-text.ts';
import { syncPath } from '../../lib/sync-path.ts';
import { failed } from './failures.ts';

type Flush = (descriptor: number) => Promise<void>;

/**
 * Puts commits on the disk beside everything else the thread does, and together: SQLite itself would stop the thread at each of them. Its log is
 * written in order, so what is on disk is always everything up to some commit.
 */
export class WalSync {
  readonly #path: string;
  readonly #descriptor: number;
  readonly #flush: Flush;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #failure: HermeticError | undefined;
  readonly #lost = Promise.withResolvers<HermeticError>();

  /** Of a database that is open: its log exists, and stays the same file until the last connection is closed. */
  constructor(path: string, flush: Flush = promisify(fdatasync)) {
    this.#path = path;
    this.#flush = flush;
    this.#descriptor = openSync(`${path}-wal`, 'r');
    syncPath(dirname(path));
  }

  /** Resolves when everything that was committed before this call is on disk. */
  sync(): Promise<void> {
    if (!this.#running) return this.#start();
    // One that is under way may have begun before the last commit.
    this.#next ??= this.#running.then(
      () => this.#start(),
      () => this.#start(),
    );
    return this.#next;
  }

  /** Throws when something did not get to the disk. A later attempt that succeeds would not bring it there, so this lasts. */
  refuseLost(): void {
    if (this.#failure) throw this.#failure;
  }

  /** Resolves when something did not get to the disk, before any call of `sync` rejects for it. */
  get lost(): Promise<HermeticError> {
    return this.#lost.promise;
  }

  /** Waits for what is under way. */
  async close(): Promise<void> {
    while (this.#running !== undefined) await this.#running.catch(() => undefined);
    closeSync(this.#descriptor);
  }

  #start(): Promise<void> {
    this.#next = undefined;
    const running = this.#flushOnce().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }

  async #flushOnce(): Promise<void> {
    this.refuseLost();
    try {
      await this.#flush(this.#descriptor);
    } catch (error) {
      const said = errorText(error);
      this.#failure = failed(
        this.#path,
        `could not be put on disk (${said})`,
        'Check its file system and disk, and start Hermetic again.',
        error,
      );
      this.#lost.resolve(this.#failure);
      throw this.#failure;
    }
  }
}
