import { describe, expect, it } from 'vitest';
import { RememberedChats } from '../../src/channels/remembered-chats.ts';
import { KeptNotes } from '../contracts/kept-notes.ts';

const dayMs = 24 * 60 * 60 * 1000;
const limits = { maxAgeMs: 10 * dayMs, max: 3 };
const load = (notes: KeptNotes) => RememberedChats.load(notes, 'chat:', limits, (name) => /^\d+$/.test(name));

describe('chats that are remembered for the next program', () => {
  it('are there again, the latest first', async () => {
    const notes = new KeptNotes();
    const chats = await load(notes);
    for (const name of ['1', '2', '1']) chats.heard(name);
    await chats.kept();
    expect(chats.names).toEqual(['1', '2']);
    expect((await load(notes)).names.toSorted()).toEqual(['1', '2']);
  });

  it('are no more than the limit, and none in which nothing was said for long', async () => {
    const notes = new KeptNotes();
    const now = Date.now();
    await notes.write({ 'chat:1': String(now - 11 * dayMs), 'chat:2': String(now - 9 * dayMs), 'chat:3': String(now), other: 'x' });
    const chats = await load(notes);
    expect(chats.names).toEqual(['3', '2']);
    for (const name of ['4', '5']) chats.heard(name);
    await chats.kept();
    expect(chats.names).toEqual(['5', '4', '3']);
    expect([...notes.all.keys()].toSorted()).toEqual(['chat:3', 'chat:4', 'chat:5', 'other']);
  });

  it('have names that are checked', async () => {
    const notes = new KeptNotes();
    await notes.write({ 'chat:../x': '1', 'chat:7': 'not a time' });
    const chats = await load(notes);
    await chats.kept();
    expect(chats.has('../x')).toBe(false);
    expect([...notes.all.keys()]).toEqual([]);
  });

  it('are written once a day, and a write that fails harms nothing', async () => {
    const notes = new KeptNotes();
    const chats = await load(notes);
    notes.failures.push(new Error('the disk is full'));
    chats.heard('1');
    await chats.kept();
    expect(chats.names).toEqual(['1']);
    expect(notes.all.size).toBe(0);
    chats.heard('2');
    chats.heard('2');
    await chats.kept();
    expect([...notes.all.keys()]).toEqual(['chat:2']);
  });
});
