import type { ChannelNotes } from '../core/channel-notes.ts';

export interface RememberedLimits {
  /** Those in which nothing was said for so long are forgotten. */
  maxAgeMs: number;
  /** And those of more than these in which nothing was said for longest. */
  max: number;
}

const dayMs = 24 * 60 * 60 * 1000;

/** Names of chats in which something was said, for the next program: where a platform does not list them, what was missed is read in these. */
export class RememberedChats {
  readonly #notes: ChannelNotes | undefined;
  readonly #prefix: string;
  readonly #limits: RememberedLimits;
  /** When something was last said there, to the day; the latest at the end. */
  readonly #chats = new Map<string, number>();
  #writing: Promise<void> = Promise.resolve();

  private constructor(notes: ChannelNotes | undefined, prefix: string, limits: RememberedLimits) {
    this.#notes = notes;
    this.#prefix = prefix;
    this.#limits = limits;
  }

  /** `prefix` is of the notes that are theirs. A note whose name is not one of a chat is removed. */
  static async load(
    notes: ChannelNotes | undefined,
    prefix: string,
    limits: RememberedLimits,
    isName: (name: string) => boolean,
  ): Promise<RememberedChats> {
    const chats = new RememberedChats(notes, prefix, limits);
    const kept = [...((await notes?.read()) ?? [])].filter(([key]) => key.startsWith(prefix));
    const named = kept.map(([key, at]) => ({ name: key.slice(prefix.length), at: Number(at) || 0 }));
    for (const { name, at } of named.toSorted((one, other) => one.at - other.at)) chats.#chats.set(name, at);
    chats.forget(named.map(({ name }) => name).filter((name) => !isName(name)));
    chats.#forgetOld();
    return chats;
  }

  /** The latest first. */
  get names(): string[] {
    return [...this.#chats.keys()].reverse();
  }

  has(name: string): boolean {
    return this.#chats.has(name);
  }

  /** Something was said there. */
  heard(name: string): void {
    const before = this.#chats.get(name);
    const now = Date.now();
    const isKept = before !== undefined && now - before < dayMs;
    this.#chats.delete(name);
    this.#chats.set(name, isKept ? before : now);
    if (isKept) return;
    this.#write({ [this.#prefix + name]: String(now) });
    this.#forgetOld();
  }

  forget(names: readonly string[]): void {
    if (names.length === 0) return;
    for (const name of names) this.#chats.delete(name);
    this.#write(Object.fromEntries(names.map((name) => [this.#prefix + name, undefined])));
  }

  /** Resolves when everything is written. */
  async kept(): Promise<void> {
    await this.#writing;
  }

  #forgetOld(): void {
    const { maxAgeMs, max } = this.#limits;
    const now = Date.now();
    const tooMany = this.#chats.size - max;
    this.forget([...this.#chats].flatMap(([name, at], index) => (index < tooMany || now - at > maxAgeMs ? [name] : [])));
  }

  /** When it fails, what is said there while no gateway runs is not found later. */
  #write(notes: Record<string, string | undefined>): void {
    if (this.#notes) this.#writing = Promise.all([this.#writing, this.#notes.write(notes)]).then(nothing, nothing);
  }
}

const nothing = (): undefined => undefined;
