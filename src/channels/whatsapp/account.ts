import type { Baileys, Credentials, KeyStore } from './baileys.ts';
import { userOf } from './jids.ts';
import type { NoteCache } from './note-cache.ts';

const credentialsKey = 'credentials';
const keyPrefix = 'key:';
const keyName = (type: string, id: string): string => `${keyPrefix}${type}:${id}`;

/** Our own account. */
export interface Self {
  jid: string;
  lidJid: string;
  /** The digits of its phone number. */
  phone: string;
  /** Its other id, by which groups name it. */
  lid: string | undefined;
}

/** What links this program to an account of WhatsApp: its credentials and the keys of its conversations. */
export class Account {
  readonly #cache: NoteCache;
  readonly #baileys: Baileys;
  #credentials: Credentials;

  constructor(cache: NoteCache, baileys: Baileys) {
    this.#cache = cache;
    this.#baileys = baileys;
    const kept = cache.get(credentialsKey);
    this.#credentials = kept === undefined ? baileys.initAuthCreds() : (this.#read(kept) as Credentials);
  }

  get isLinked(): boolean {
    return isLinked(this.#credentials);
  }

  get self(): Self | undefined {
    const { me } = this.#credentials;
    const phone = userOf(me?.id);
    if (!me || phone === undefined || !this.isLinked) return undefined;
    return { jid: me.id, lidJid: me.lid ?? '', phone: phone.user, lid: userOf(me.lid)?.user };
  }

  /** For a new connection. Until an account is linked, every connection has new ones. */
  credentials(): Credentials {
    if (!this.isLinked) this.#credentials = this.#baileys.initAuthCreds();
    return this.#credentials;
  }

  /** Those of a connection changed. */
  async keep(credentials: Credentials): Promise<void> {
    if (credentials !== this.#credentials || !isLinked(credentials)) return;
    this.#cache.change({ [credentialsKey]: this.#write(credentials) });
    await this.#cache.flush();
  }

  /** It is no longer linked. */
  async forget(): Promise<void> {
    this.#credentials = this.#baileys.initAuthCreds();
    const keys = this.#cache.keys(keyPrefix);
    this.#cache.change({ [credentialsKey]: undefined, ...Object.fromEntries(keys.map((key) => [key, undefined])) });
    await this.#cache.flush();
  }

  /** The keys, for Baileys. `keep` resolves when what changed is kept; Baileys would drop a message while one of its keys cannot be. */
  keyStore(keep: () => Promise<void>): KeyStore {
    return {
      get: async (type, ids) => {
        const found = ids.map((id) => [id, this.key(type, id)] as const);
        return Object.fromEntries(found.filter(([, value]) => value !== undefined));
      },
      set: async (data) => {
        for (const [type, values] of Object.entries(data)) {
          for (const [id, value] of Object.entries(values)) {
            this.#cache.change({ [keyName(type, id)]: value === null || value === undefined ? undefined : this.#write(value) });
          }
        }
        if (!this.#cache.isTogether) await keep();
      },
    };
  }

  /** A new object each time: Baileys changes what it gets. */
  key(type: string, id: string): unknown {
    const kept = this.#cache.get(keyName(type, id));
    if (kept === undefined) return undefined;
    const value = this.#read(kept);
    return type === 'app-state-sync-key' ? this.#baileys.proto.Message.AppStateSyncKeyData.fromObject(value as object) : value;
  }

  #read(text: string): unknown {
    return JSON.parse(text, this.#baileys.BufferJSON.reviver);
  }

  #write(value: unknown): string {
    return JSON.stringify(value, this.#baileys.BufferJSON.replacer);
  }
}

/** `me` alone is also there while a code is waited for. */
function isLinked({ me, account }: Credentials): boolean {
  return me !== undefined && account !== undefined && account !== null;
}
