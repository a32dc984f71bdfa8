import { createHmac, randomBytes } from 'node:crypto';
import { isSameSecret } from '../../lib/same-secret.ts';
import { editableMs } from './limits.ts';
import type { NoteCache } from './note-cache.ts';

const secretKey = 'message-ids';
const sentPrefix = 'sent:';
/** As programs for the web begin theirs. */
const beginning = '3EB0';

/**
 * The ids of our messages. They are recognised by a mark that only this gateway can make, also after a restart: in a chat of the owner with
 * themselves nothing else tells our words from theirs. The same key gives the same id, and a phone shows a message with an id it has only once.
 */
export class MessageIds {
  readonly #cache: NoteCache;
  readonly #secret: Buffer;

  constructor(cache: NoteCache) {
    this.#cache = cache;
    const kept = cache.get(secretKey);
    this.#secret = kept === undefined ? randomBytes(32) : Buffer.from(kept, 'base64');
    if (kept === undefined) cache.change({ [secretKey]: this.#secret.toString('base64') });
  }

  next(key?: string): string {
    const unique = key === undefined ? randomBytes(8).toString('hex').toUpperCase() : this.#hmac(`key ${key}`, 8);
    return beginning + unique + this.#hmac(`id ${unique}`, 6);
  }

  isOurs(id: unknown): id is string {
    if (typeof id !== 'string' || !/^3EB0[\dA-F]{28}$/.test(id)) return false;
    return isSameSecret(id.slice(20), this.#hmac(`id ${id.slice(4, 20)}`, 6));
  }

  /** Remembers when it was sent, for as long as that matters. */
  sent(id: string, now = Date.now()): void {
    const old = this.#cache.keys(sentPrefix).filter((key) => Number(this.#cache.get(key)) < now - editableMs);
    this.#cache.change({ ...Object.fromEntries(old.map((key) => [key, undefined])), [sentPrefix + id]: String(now) });
  }

  isEditable(id: string, now = Date.now()): boolean {
    return Number(this.#cache.get(sentPrefix + id) ?? 0) > now - editableMs;
  }

  #hmac(text: string, bytes: number): string {
    return createHmac('sha256', this.#secret)
      .update(text)
      .digest('hex')
      .slice(0, bytes * 2)
      .toUpperCase();
  }
}
