import { AsyncLocalStorage } from 'node:async_hooks';
import type { ChannelNotes } from '../../core/channel-notes.ts';
import { Lane } from '../../lib/lanes.ts';

type Changes = Readonly<Record<string, string | undefined>>;

/** All notes in memory. Only what changed is written, and what changed together in one transaction. */
export class NoteCache {
  readonly #notes: ChannelNotes;
  readonly #kept: Map<string, string>;
  readonly #writes = new Lane();
  readonly #works = new Lane();
  /** What the work changes that runs. */
  readonly #together = new AsyncLocalStorage<Set<string>>();
  #pending = new Map<string, string | undefined>();

  private constructor(notes: ChannelNotes, kept: Map<string, string>) {
    this.#notes = notes;
    this.#kept = kept;
  }

  static async load(notes: ChannelNotes): Promise<NoteCache> {
    return new NoteCache(notes, new Map(await notes.read()));
  }

  get(key: string): string | undefined {
    return this.#kept.get(key);
  }

  keys(prefix: string): string[] {
    return [...this.#kept.keys()].filter((key) => key.startsWith(prefix));
  }

  /** Kept with the next `flush`. */
  change(changes: Changes): void {
    for (const [key, value] of Object.entries(changes)) {
      if (value === undefined ? !this.#kept.has(key) : this.#kept.get(key) === value) continue;
      if (value === undefined) this.#kept.delete(key);
      else this.#kept.set(key, value);
      const work = this.#together.getStore();
      if (work) work.add(key);
      else this.#pending.set(key, value);
    }
  }

  /** Inside of `together`. */
  get isTogether(): boolean {
    return this.#together.getStore() !== undefined;
  }

  /** Runs one piece of work after the other. What it changes is kept in one transaction, with the first `flush` after it. */
  async together<Result>(work: () => Promise<Result>): Promise<Result> {
    return await this.#works.run(async () => {
      const changed = new Set<string>();
      try {
        return await this.#together.run(changed, work);
      } finally {
        for (const key of changed) this.#pending.set(key, this.#kept.get(key));
      }
    });
  }

  /** Resolves when everything is kept. When it rejects, the next one tries it again. */
  async flush(): Promise<void> {
    await this.#writes.run(async () => {
      const batch = this.#pending;
      if (batch.size === 0) return;
      this.#pending = new Map();
      try {
        await this.#notes.write(Object.fromEntries(batch));
      } catch (error) {
        this.#pending = new Map([...batch, ...this.#pending]);
        throw error;
      }
    });
  }
}
