/** What channels remember from one program to the next, such as how far they have read. */
export interface ChannelNoteLedger {
  /** All notes of a channel. */
  read(channel: string): Promise<ReadonlyMap<string, string>>;
  /** Several at once; undefined removes one. */
  write(channel: string, notes: Readonly<Record<string, string | undefined>>): Promise<void>;
}

/** The notes of one channel. */
export interface ChannelNotes {
  read(): Promise<ReadonlyMap<string, string>>;
  write(notes: Readonly<Record<string, string | undefined>>): Promise<void>;
}

export function notesOf(ledger: ChannelNoteLedger, channel: string): ChannelNotes {
  return { read: () => ledger.read(channel), write: (notes) => ledger.write(channel, notes) };
}
