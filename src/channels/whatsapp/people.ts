import type { Account } from './account.ts';
import { personId, type User, userOf } from './jids.ts';
import type { NoteCache } from './note-cache.ts';

const whoPrefix = 'who:';

/**
 * One id for each person. WhatsApp names the same person by a phone number here and by a number of its own (LID) there, and does not always say
 * both. The id that was given first stays, so that nobody has two.
 */
export class People {
  readonly #cache: NoteCache;
  readonly #account: Account;

  constructor(cache: NoteCache, account: Account) {
    this.#cache = cache;
    this.#account = account;
  }

  /** `other`: the other name of the same person, when WhatsApp says it. undefined when it is no person. */
  idOf(jid: unknown, other?: unknown): string | undefined {
    const { id, lid } = this.#search(jid, other);
    if (id !== undefined && lid !== undefined) this.#cache.change({ [whoPrefix + lid]: id });
    return id;
  }

  /** Security: for a name that WhatsApp did not check, such as in a quote. It gives nobody an id. */
  find(jid: unknown): string | undefined {
    return this.#search(jid, undefined).id;
  }

  #search(jid: unknown, other: unknown): { id: string | undefined; lid?: string | undefined } {
    const named = [userOf(jid), userOf(other)].filter((user) => user !== undefined);
    const [first] = named;
    if (!first) return { id: undefined };
    const phone = named.find(({ isLid }) => !isLid)?.user ?? this.#mapped(`${first.user}_reverse`);
    const lid = named.find(({ isLid }) => isLid)?.user ?? this.#mapped(first.user);
    if (lid === undefined) return { id: phone };
    const given = this.#cache.get(whoPrefix + lid);
    return { lid, id: given ?? personId(phone === undefined ? { user: lid, isLid: true } : { user: phone, isLid: false }) };
  }

  /** Baileys keeps which names belong together as it learns them from WhatsApp. */
  #mapped(id: string): string | undefined {
    const value = this.#account.key('lid-mapping', id);
    return typeof value === 'string' && /^\d{1,20}$/.test(value) ? value : undefined;
  }
}

/** Whether a jid names this account. */
export function isUser(jid: unknown, { phone, lid }: { phone: string; lid: string | undefined }): boolean {
  const user: User | undefined = userOf(jid);
  return user !== undefined && user.user === (user.isLid ? lid : phone);
}
