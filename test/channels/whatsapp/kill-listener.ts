import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { whatsapp } from '../../../src/channels/whatsapp/index.ts';
import { notesOf } from '../../../src/core/channel-notes.ts';
import { openStore } from '../../../src/stores/index.ts';

/** Writes what it accepts into a file, a moment after it was offered, until it is killed. */
const [root = '', home = '', path = ''] = process.argv.slice(2);
const store = await openStore(join(home, 'state.db'));
const notes = notesOf(store.channelNotes, 'whatsapp');
const channel = whatsapp.create({ secret: () => '', log: () => undefined, notes }, whatsapp.options.parse({ api_root: root }));
await channel.start(async (incoming) => {
  await delay(Math.random() * 20);
  if (incoming.kind === 'message') appendFileSync(path, `${incoming.place.chat} ${incoming.text}\n`);
});
