import { appendFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { telegram } from '../../../src/channels/telegram/index.ts';

/** Writes what it accepts into a file, a moment after it was offered, until it is killed. */
const [root = '', token = '', path = ''] = process.argv.slice(2);
const channel = telegram.create({ secret: () => token, log: () => undefined }, telegram.options.parse({ api_root: root }));
await channel.start(async (incoming) => {
  await delay(Math.random() * 20);
  if (incoming.kind === 'message') appendFileSync(path, `${incoming.place.chat} ${incoming.text}\n`);
});
