import type { ChannelNotes } from '../../core/channel-notes.ts';
import { HermeticError } from '../../core/errors.ts';
import { BoundedMap } from '../../lib/bounded-map.ts';
import { maxEditAgeMs, maxEdits } from './limits.ts';

interface Revision {
  /** By which apps know the message now; undefined when an edit went out and nobody said under which. */
  latest: number | undefined;
  edits: number;
  text: string | undefined;
}

const prefix = 'edit:';
const inDoubt = '?';
const maxKept = 5000;

/**
 * What became of messages of ours that were edited. Each edit has a time of its own, and the next one must name it: apps silently ignore an edit of an
 * earlier form of a message, and one too many. Kept for the next program, which may have to finish a text.
 */
export class Revisions {
  readonly #notes: ChannelNotes | undefined;
  readonly #known = new BoundedMap<string, Revision>(maxKept);
  readonly #originals = new BoundedMap<number, string>(maxKept);
  /** Of which there are notes, the oldest first. */
  readonly #noted = new Set<string>();
  #loading: Promise<void> | undefined;

  constructor(notes: ChannelNotes | undefined) {
    this.#notes = notes;
  }

  /** The message that has this time, or had it after an edit. */
  originalOf(timestamp: number): string {
    return this.#originals.get(timestamp) ?? String(timestamp);
  }

  /** By which apps know the message now, as far as it is known. */
  async latestOf(id: string): Promise<number> {
    await this.#load();
    return this.#known.get(id)?.latest ?? Number(id);
  }

  /**
   * Calls `edit` with the time to name; it resolves with the time of the edit. Rejects with `channel/refused` when apps would ignore it: then the text
   * has to be sent.
   */
  async change(id: string, text: string, edit: (latest: number) => Promise<number>, wasTaken: (error: unknown) => boolean): Promise<void> {
    await this.#load();
    const before = this.#known.get(id) ?? { latest: Number(id), edits: 0, text: undefined };
    if (before.text === text) return;
    const refuse = (why: string): never => {
      throw new HermeticError('channel/refused', `Signal: ${why}.`);
    };
    const { latest } = before;
    if (latest === undefined) return refuse('it is unknown how the message was last edited');
    if (before.edits >= maxEdits) return refuse(`a message can be edited ${maxEdits} times`);
    if (Date.now() - Number(id) > maxEditAgeMs) return refuse('a message can be edited for a day');
    await this.#keep(id, { ...before, latest: undefined, text: undefined });
    try {
      const timestamp = await edit(latest);
      this.#originals.set(timestamp, id);
      await this.#keep(id, { latest: timestamp, edits: before.edits + 1, text });
    } catch (error) {
      if (!wasTaken(error)) await this.#keep(id, before);
      throw error;
    }
  }

  async #keep(id: string, revision: Revision): Promise<void> {
    this.#known.set(id, revision);
    const { latest, edits } = revision;
    const note = latest === undefined ? inDoubt : `${latest}:${edits}`;
    this.#noted.add(id);
    // Nothing depends on a note alone while this program lives.
    await this.#notes?.write({ ...this.#stale(), [prefix + id]: note }).catch(() => undefined);
  }

  /** Notes about messages that cannot be edited any more, to be removed. */
  #stale(): Record<string, undefined> {
    const stale: Record<string, undefined> = {};
    for (const id of this.#noted) {
      if (Date.now() - Number(id) <= maxEditAgeMs) break;
      this.#noted.delete(id);
      stale[prefix + id] = undefined;
    }
    return stale;
  }

  async #load(): Promise<void> {
    this.#loading ??= this.#read().catch(() => {
      this.#loading = undefined;
      throw new HermeticError('channel/busy', 'Signal: the notes about earlier edits cannot be read.');
    });
    await this.#loading;
  }

  async #read(): Promise<void> {
    const all = [...((await this.#notes?.read()) ?? [])].filter(([key]) => /^edit:\d{1,15}$/.test(key));
    const entries = all.map(([key, note]) => ({ id: key.slice(prefix.length), note }));
    for (const { id, note } of entries.toSorted((one, other) => Number(one.id) - Number(other.id))) {
      const [, latest, edits] = /^(\d{1,15}):(\d{1,3})$/.exec(note) ?? [];
      this.#noted.add(id);
      this.#known.set(id, { latest: latest === undefined ? undefined : Number(latest), edits: Number(edits ?? 0), text: undefined });
      if (latest !== undefined) this.#originals.set(Number(latest), id);
    }
  }
}
