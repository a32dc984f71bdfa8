import { describe, expect, it } from 'vitest';
import type { BlockedConnection } from '../../src/core/egress.ts';
import { BlockedList } from '../../src/egress/blocked-list.ts';
import { ConnectionJournal } from '../../src/egress/connection-journal.ts';

const connection = (host: string, count = 1): BlockedConnection => ({ host, port: 443, reason: 'unlisted', count });

describe('the journal of connections', () => {
  it('answers each watch with the connections since it began, and again with later ones', () => {
    const journal = new ConnectionJournal(() => new BlockedList());
    journal.add([connection('before.example')]);
    const first = journal.watch();
    journal.add([connection('a.example'), connection('b.example')]);
    const second = journal.watch();
    journal.add([connection('a.example', 2)]);
    expect(first()).toEqual([connection('a.example', 3), connection('b.example')]);
    expect(second()).toEqual([connection('a.example', 2)]);
    journal.add([connection('c.example')]);
    expect(second()).toEqual([connection('a.example', 2), connection('c.example')]);
    expect(journal.watch()()).toEqual([]);
  });

  it('counts all connections of a command, however many', () => {
    const journal = new ConnectionJournal(() => new BlockedList());
    const all = journal.watch();
    for (let number = 0; number < 5_000; number++) journal.add([connection(`${number % 8}.example`)]);
    const kept = all();
    expect(kept).toHaveLength(8);
    expect(kept.reduce((sum, { count }) => sum + count, 0)).toBe(5_000);
  });

  it('keeps the latest connections when very many commands have some', () => {
    const journal = new ConnectionJournal(() => new BlockedList());
    const all = journal.watch();
    let last = all;
    for (let number = 0; number < 2_000; number++) {
      last = journal.watch();
      journal.add([connection('first.example'), connection('second.example')]);
    }
    expect(all()).toEqual([connection('first.example', 1_024), connection('second.example', 1_024)]);
    expect(last()).toEqual([connection('first.example'), connection('second.example')]);
  });
});
