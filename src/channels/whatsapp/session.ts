import type { z } from 'zod';
import type { Incoming } from '../../core/channel.ts';
import type { ChannelNotes } from '../../core/channel-notes.ts';
import type { ChannelContext } from '../context.ts';
import type { Health } from '../health.ts';
import { Account } from './account.ts';
import { Arrivals } from './arrivals.ts';
import { type Baileys, loadBaileys } from './baileys.ts';
import type { Arrival } from './decrypting.ts';
import { Link } from './link.ts';
import { MessageIds } from './message-ids.ts';
import { NoteCache } from './note-cache.ts';
import type { whatsappOptions } from './options.ts';
import { parseMessage } from './parse.ts';
import { People } from './people.ts';
import { Recent } from './recent.ts';
import { Speaker } from './speaker.ts';
import { wireMessageOf } from './wire-message.ts';

export interface SessionParts {
  notes: ChannelNotes;
  context: ChannelContext;
  options: z.output<typeof whatsappOptions>;
  health: Health;
  signal: AbortSignal;
  load: (() => Promise<Baileys>) | undefined;
}

/** Connects, and stays connected until the signal. `ended` resolves after it, when everything is kept. */
export async function openSession({ notes, context, options, health, signal, load = loadBaileys }: SessionParts) {
  const baileys = await load();
  const cache = await NoteCache.load(notes);
  const account = new Account(cache, baileys);
  const people = new People(cache, account);
  const ids = new MessageIds(cache);
  const recent = new Recent();
  const { log, deliveries } = context;
  const parse = (arrival: Arrival): Incoming | undefined => {
    const { self } = account;
    return self && parseMessage(wireMessageOf(arrival, self, baileys), Date.now(), { mode: options.mode, self, people, ids, recent });
  };
  const arrivals = new Arrivals({ cache, health, log, deliveries, parse, signal });
  const decrypting = {
    together: <Result>(work: () => Promise<Result>) => cache.together(work),
    arrived: (arrival: Arrival) => arrivals.arrived(arrival),
    keep: () => arrivals.keep(),
    kept: () => arrivals.kept(),
  };
  const { api_root: apiRoot, pair_with: phone } = options;
  const link = new Link({ baileys, apiRoot, decrypting, account, health, log, pairWith: phone?.replace('+', ''), signal });
  const speaker = new Speaker({ baileys, apiRoot, ids, recent, connection: (given) => link.ready(given) });
  const ended = link.run().then(() => arrivals.farewell());
  return { arrivals, link, speaker, ended };
}
