import type { Incoming } from '../../core/channel.ts';
import type { NoteCache } from './note-cache.ts';

/** Something that arrived. */
export interface Entry {
  /** What WhatsApp calls it. */
  id: string;
  /** In whose order it is accepted. */
  chat: string;
  /** undefined when it cannot be read. */
  incoming: Incoming | undefined;
  /** Why it cannot be read, and what arrived. */
  unreadable: { reason: string; content: string } | undefined;
}

const prefix = 'arrived:';

/**
 * Messages that have arrived and are not accepted yet. WhatsApp cannot deliver a message again once it was decrypted, because its key is gone
 * then. So each is kept here, in the transaction that keeps the change of keys, before WhatsApp is told that it arrived.
 */
export class Journal {
  readonly #cache: NoteCache;
  #count = 0;

  constructor(cache: NoteCache) {
    this.#cache = cache;
  }

  /** The oldest first. */
  keys(): string[] {
    return this.#cache.keys(prefix).sort();
  }

  get(key: string): Entry | undefined {
    const kept = this.#cache.get(key);
    if (kept === undefined) return undefined;
    const { id, chat, incoming, unreadable } = JSON.parse(kept) as Entry;
    return { id, chat, incoming: incoming && revived(incoming), unreadable };
  }

  /** Kept with the next flush of the cache. */
  add(entry: Entry): string {
    this.#count += 1;
    const key = `${prefix}${String(Date.now()).padStart(15, '0')}-${String(this.#count).padStart(9, '0')}`;
    this.#cache.change({ [key]: JSON.stringify(entry) });
    return key;
  }

  /** When it fails, it is accepted once more at the next start, under the same id. */
  remove(key: string): void {
    this.#cache.change({ [key]: undefined });
    this.#cache.flush().catch(() => undefined);
  }
}

/** JSON has neither dates nor undefined. */
function revived(incoming: Incoming): Incoming {
  const { at, place } = incoming;
  const whole = { at: new Date(at), place: { ...place, workspace: undefined, thread: undefined } };
  return incoming.kind === 'press' ? { ...incoming, ...whole } : { ...incoming, ...whole, quoted: incoming.quoted };
}
