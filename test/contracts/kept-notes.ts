import type { ChannelNotes } from '../../src/core/channel-notes.ts';

/** Notes of a channel, as a store keeps them. */
export class KeptNotes implements ChannelNotes {
  readonly all = new Map<string, string>();
  /** Thrown by the next writes. */
  readonly failures: Error[] = [];

  async read(): Promise<ReadonlyMap<string, string>> {
    return new Map(this.all);
  }

  async write(notes: Readonly<Record<string, string | undefined>>): Promise<void> {
    const failure = this.failures.shift();
    if (failure) throw failure;
    for (const [key, note] of Object.entries(notes)) {
      if (note === undefined) this.all.delete(key);
      else this.all.set(key, note);
    }
  }
}
