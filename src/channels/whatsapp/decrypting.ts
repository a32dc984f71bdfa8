import type { MakeSignalRepository, SignalRepository, WireNode } from './baileys.ts';
import { quietly } from './quiet.ts';

/** A message as it arrived. */
export interface Arrival {
  /** What WhatsApp says about it. */
  attrs: Readonly<Record<string, string>>;
  /** What it contains, decrypted. */
  plain: readonly Uint8Array[];
}

export interface DecryptingParts {
  make: MakeSignalRepository;
  /** Runs what decrypts, so that what it writes is kept together with what `arrived` writes. */
  together<Result>(work: () => Promise<Result>): Promise<Result>;
  /** A message was decrypted. It is kept with `keep`. */
  arrived(arrival: Arrival): void;
  /** Resolves when everything is kept. */
  keep(): Promise<void>;
  /** Everything is kept: what arrived can be accepted. */
  kept(): void;
}

interface Open {
  attrs: Readonly<Record<string, string>>;
  /** Of several parts those before the last only hold keys. */
  last: Uint8Array;
  plain: Uint8Array[];
}

type Method = (...given: readonly unknown[]) => unknown;

/**
 * Baileys tells WhatsApp that a message arrived as soon as it is decrypted, before it tells us. Decrypting is the only moment before that, so here a
 * message is taken as it is decrypted, and Baileys goes on when it is kept.
 */
export class Decrypting {
  readonly #parts: DecryptingParts;
  readonly #open = new WeakMap<Uint8Array, Open>();

  constructor(parts: DecryptingParts) {
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
    const quiet = Object.entries(repository).map(([name, value]) => [
      name,
      typeof value === 'function' ? (...parts: readonly unknown[]) => quietly(() => (value as Method)(...parts)) : value,
    ]);
    const { decryptMessage, decryptGroupMessage, ...rest } = Object.fromEntries(quiet) as SignalRepository;
    return {
      ...rest,
      decryptMessage: (what) => this.#taken(what.ciphertext, () => decryptMessage(what)),
      decryptGroupMessage: (what) => this.#taken(what.msg, () => decryptGroupMessage(what)),
    };
  };

  async #taken(ciphertext: Uint8Array, decrypt: () => Promise<Uint8Array>): Promise<Uint8Array> {
    const { together, arrived, keep, kept } = this.#parts;
    const open = this.#open.get(ciphertext);
    try {
      const plain = await together(decrypt);
      open?.plain.push(plain);
      if (open?.last === ciphertext) arrived(open);
      return plain;
    } finally {
      await keep();
      kept();
    }
  }
}

/** Not what the devices of one account tell each other, and no status or newsletter. */
function isFromChat({ from, category }: Readonly<Record<string, string>>): boolean {
  return category !== 'peer' && /@(s\.whatsapp\.net|c\.us|hosted|lid|hosted\.lid|g\.us)$/.test(from ?? '');
}
