import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { notesOf } from '../../../src/core/channel-notes.ts';
import { openStore } from '../../../src/stores/index.ts';
import { KeptNotes } from '../../contracts/kept-notes.ts';
import { FakeWhatsApp, group } from '../../fakes/whatsapp/server.ts';
import { until } from '../../until.ts';
import { chatsOf, linkBefore } from './harness.ts';

const listener = fileURLToPath(new URL('./kill-listener.ts', import.meta.url));
let server: FakeWhatsApp;
let home: string;

beforeEach(async () => {
  server = await FakeWhatsApp.start();
  home = mkdtempSync(join(tmpdir(), 'hermetic-whatsapp-'));
});
afterEach(async () => {
  await server.close();
  rmSync(home, { recursive: true });
});

/** As the database has it. */
async function linkedHome(): Promise<void> {
  const notes = new KeptNotes();
  await linkBefore(server, notes);
  const store = await openStore(join(home, 'state.db'));
  await notesOf(store.channelNotes, 'whatsapp').write(Object.fromEntries(notes.all));
  await store.close();
}

it('loses no message of WhatsApp and keeps their order when the channel is killed again and again', async () => {
  await linkedHome();
  const path = join(home, 'accepted');
  const lines = (): string[] => (existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []);
  const chats = chatsOf(server);
  const places = [chats.direct, chats.otherDirect, chats.group];
  const expected: string[] = [];
  const say = (): void => {
    const place = places[expected.length % 3] ?? chats.direct;
    chats.userSays(place, { text: `word ${expected.length}` });
    expected.push(`${place.chat} word ${expected.length}`);
  };
  for (let life = 0; life < 5; life += 1) {
    for (let count = 0; count < 10; count += 1) say();
    const before = lines().length;
    const child = spawn(process.execPath, [listener, server.root, home, path], { stdio: 'inherit' });
    try {
      const isLast = life === 4;
      const isEnough = () => (isLast ? new Set(lines()).size >= expected.length : lines().length > before + 3);
      await until('it has accepted something', isEnough);
    } finally {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    }
  }
  const distinct = [...new Set(lines())];
  expect(distinct.toSorted()).toEqual(expected.toSorted());
  for (const chat of [server.ada.phone, server.bob.phone, group]) {
    const isTheirs = (line: string): boolean => line.startsWith(`${chat} `);
    expect(distinct.filter(isTheirs)).toEqual(expected.filter(isTheirs));
  }
});
