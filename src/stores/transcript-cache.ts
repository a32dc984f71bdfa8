/** The messages of a conversation that were read, from the one after `from` to `last`. */
export interface KnownTranscript {
  epoch: number;
  from: number;
  last: number;
  messages: readonly unknown[];
  /** Of the stored text. */
  characters: number;
}

const maxSessions = 16;
const maxCharacters = 4_000_000;

/** The conversations that were read last, so that a turn of a long one reads what is new. */
export class TranscriptCache {
  /** The most recently used conversation comes last. */
  readonly #known = new Map<string, KnownTranscript>();
  #characters = 0;

  find(session: string, epoch: number, from: number): KnownTranscript | undefined {
    const known = this.#known.get(session);
    return known?.epoch === epoch && known.from === from ? known : undefined;
  }

  keep(session: string, transcript: KnownTranscript): void {
    this.#forget(session);
    this.#known.set(session, transcript);
    this.#characters += transcript.characters;
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= maxSessions && this.#characters <= maxCharacters) break;
      this.#forget(oldest);
    }
  }

  #forget(session: string): void {
    this.#characters -= this.#known.get(session)?.characters ?? 0;
    this.#known.delete(session);
  }
}
