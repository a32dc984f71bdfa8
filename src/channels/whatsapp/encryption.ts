import { AsyncLocalStorage } from 'node:async_hooks';
import type { MakeSignalRepository, SignalRepository, WireNode } from './baileys.ts';
import { quietly } from './quiet.ts';

/** A message as it arrived. */
export interface Arrival {
  /** What WhatsApp says about it. */
  attrs: Readonly<Record<string, string>>;
  /** What it contains, decrypted. */
  plain: readonly Uint8Array[];
}

export interface EncryptionParts {
  make: MakeSignalRepository;
  /** Runs one piece of work after the other, so that what it changes is kept in one transaction, and not before it is done. */
  together<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Takes a message that was decrypted, inside of `together`. What it returns is called after that. */
  arrived(arrival: Arrival): () => void;
  /** Resolves when everything is kept. */
  keep(): Promise<void>;
}

interface Open {
  attrs: Readonly<Record<string, string>>;
  /** Of several parts those before the last only hold keys. */
  last: Uint8Array;
  plain: Uint8Array[];
}

type Method = (...given: readonly unknown[]) => unknown;

/** They change no key and answer at once. */
const isPlain = (name: string): boolean => name === 'jidToSignalProtocolAddress' || name === 'close';

/**
 * What encrypts and decrypts for Baileys, so that a kill at any moment loses no message.
 *
 * Baileys tells WhatsApp that a message arrived as soon as it is decrypted, before it tells us. Decrypting is the only moment before that, so here a
 * message is taken as it is decrypted, and Baileys goes on when it is kept.
 *
 * Baileys sends a message inside of its transaction and keeps the keys after it. A program that is killed in between would encrypt the next one with
 * a key that its reader has seen and refuses. And what arrives meanwhile changes keys that the transaction then puts back. So each piece of work
 * here is outside of Baileys' transactions, alone, and kept before its result is used.
 */
export class Encryption {
  readonly #parts: EncryptionParts;
  readonly #open = new WeakMap<Uint8Array, Open>();
  readonly #outside = AsyncLocalStorage.snapshot();

  constructor(parts: EncryptionParts) {
    this.#parts = parts;
  }

  /** A message that is about to be decrypted. */
  expect({ attrs, content }: WireNode): void {
    const parts = (Array.isArray(content) ? (content as readonly WireNode[]) : [])
      .filter(({ tag }) => tag === 'enc')
      .map((node) => node.content)
      .filter((bytes) => bytes instanceof Uint8Array);
    const last = parts.at(-1);
    if (!last || !isFromChat(attrs)) return;
    const open: Open = { attrs, last, plain: [] };
    for (const bytes of parts) this.#open.set(bytes, open);
  }

  readonly makeRepository: MakeSignalRepository = (...given) => {
    const repository = this.#parts.make(...given);
    const guarded = Object.entries(repository).map(([name, value]) => {
      if (typeof value !== 'function') return [name, value];
      const method = (...parts: readonly unknown[]): unknown => quietly(() => (value as Method)(...parts));
      return [name, isPlain(name) ? method : (...parts: readonly unknown[]) => this.#kept(async () => await method(...parts))];
    });
    const { decryptMessage, decryptGroupMessage } = repository;
    return {
      ...(Object.fromEntries(guarded) as SignalRepository),
      decryptMessage: (what) => this.#taken(what.ciphertext, () => quietly(() => decryptMessage(what))),
      decryptGroupMessage: (what) => this.#taken(what.msg, () => quietly(() => decryptGroupMessage(what))),
    };
  };

  async #taken(ciphertext: Uint8Array, decrypt: () => Promise<Uint8Array>): Promise<Uint8Array> {
    const open = this.#open.get(ciphertext);
    let offer: (() => void) | undefined;
    return await this.#kept(
      async () => {
        const plain = await decrypt();
        open?.plain.push(plain);
        if (open?.last === ciphertext) offer = this.#parts.arrived(open);
        return plain;
      },
      () => offer?.(),
    );
  }

  async #kept<Result>(work: () => Promise<Result>, then?: () => void): Promise<Result> {
    const { together, keep } = this.#parts;
    try {
      return await this.#outside(() => together(work));
    } finally {
      then?.();
      await keep();
    }
  }
}

/** Not what the devices of one account tell each other, and no status or newsletter. */
function isFromChat({ from, category }: Readonly<Record<string, string>>): boolean {
  return category !== 'peer' && /@(s\.whatsapp\.net|c\.us|hosted|lid|hosted\.lid|g\.us)$/.test(from ?? '');
}
