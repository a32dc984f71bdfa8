import type { z } from 'zod';
import type { Accept, Incoming } from '../../core/channel.ts';
import type { ChannelNotes } from '../../core/channel-notes.ts';
import { settlesWithin, within } from '../../lib/deadline.ts';
import { Lane } from '../../lib/lanes.ts';
import type { ChannelContext } from '../context.ts';
import { Health } from '../health.ts';
import type { Connection } from '../platform-channel.ts';
import { RecentMessages } from '../recent-messages.ts';
import { Account } from './account.ts';
import { Arrivals } from './arrivals.ts';
import type { Baileys } from './baileys.ts';
import type { Arrival } from './encryption.ts';
import { busy, refused } from './failures.ts';
import { Link } from './link.ts';
import { MessageIds } from './message-ids.ts';
import { NoteCache } from './note-cache.ts';
import type { whatsappOptions } from './options.ts';
import { parseMessage } from './parse.ts';
import { People } from './people.ts';
import { Speaker } from './speaker.ts';
import type { Wire } from './wire.ts';
import { wireMessageOf } from './wire-message.ts';

/** How long `listen` waits to say whether it is up. */
const firstTryMs = 10_000;

type Options = z.output<typeof whatsappOptions>;

export async function connect(context: ChannelContext, options: Options, baileys: Baileys): Promise<Connection> {
  const { notes } = context;
  if (!notes) throw refused('Only the running gateway can write to WhatsApp.');
  const line = new Line(context, options, baileys, await NoteCache.load(notes satisfies ChannelNotes));
  return {
    speaker: line.speaker,
    async listen(accept, health, signal) {
      const { link, ended } = await line.listen(accept, health, signal);
      await settlesWithin({ ms: firstTryMs, signal }, link.tried);
      return { ended };
    },
  };
}

/** Our end of one account. */
class Line {
  readonly #context: ChannelContext;
  readonly #options: Options;
  readonly #baileys: Baileys;
  readonly #cache: NoteCache;
  readonly #account: Account;
  readonly #people: People;
  readonly #ids: MessageIds;
  readonly #recent = new RecentMessages();
  /** There is one connection at a time: WhatsApp ends one of two, and what arrives on the one is not known to the other. */
  readonly #brief = new Lane();
  /** Aborted when a listener waits for those that are brief. */
  #wanted = new AbortController();
  readonly speaker: Speaker;
  #listening: Link | undefined;

  constructor(context: ChannelContext, options: Options, baileys: Baileys, cache: NoteCache) {
    this.#context = context;
    this.#options = options;
    this.#baileys = baileys;
    this.#cache = cache;
    this.#account = new Account(cache, baileys);
    this.#people = new People(cache, this.#account);
    this.#ids = new MessageIds(cache);
    this.speaker = new Speaker({
      baileys,
      apiRoot: options.api_root,
      ids: this.#ids,
      people: this.#people,
      recent: this.#recent,
      isListening: () => this.#listening !== undefined,
      use: (signal, work) => this.#use(signal, work),
    });
  }

  /** Listens until the signal. `ended` resolves after it, when everything is kept. */
  async listen(accept: Accept, health: Health, signal: AbortSignal) {
    const { arrivals, link, run } = this.#newLink(health, signal);
    this.#listening = link;
    this.#wanted.abort();
    this.#wanted = new AbortController();
    await this.#brief.idle();
    await arrivals.listen(accept);
    const ended = run().then(() => {
      if (this.#listening === link) this.#listening = undefined;
    });
    return { link, ended };
  }

  /** `run` connects and stays connected until the signal. */
  #newLink(health: Health, signal: AbortSignal) {
    const { log, deliveries } = this.#context;
    const { api_root: apiRoot, pair_with: phone } = this.#options;
    const baileys = this.#baileys;
    const account = this.#account;
    const arrivals = new Arrivals({ cache: this.#cache, health, log, deliveries, parse: (arrival) => this.#parse(arrival), signal });
    const encryption = {
      together: <Result>(work: () => Promise<Result>) => this.#cache.together(work),
      arrived: (arrival: Arrival) => arrivals.arrived(arrival),
      keep: () => arrivals.keep(),
    };
    const link = new Link({ baileys, apiRoot, encryption, account, health, log, pairWith: phone?.replace('+', ''), signal });
    return { arrivals, link, run: () => link.run().then(() => arrivals.farewell()) };
  }

  #parse(arrival: Arrival): Incoming | undefined {
    const { self } = this.#account;
    if (!self) return undefined;
    const message = wireMessageOf(arrival, self, this.#baileys);
    const { mode } = this.#options;
    return parseMessage(message, Date.now(), { mode, self, people: this.#people, ids: this.#ids, recent: this.#recent });
  }

  async #use<Result>(signal: AbortSignal | undefined, work: (wire: Wire) => Promise<Result>): Promise<Result> {
    if (!this.#listening) {
      const brief = await this.#brief.run(() => (this.#listening ? undefined : this.#useBriefly(signal, work)));
      if (brief) return brief.result;
    }
    if (!this.#listening) throw busy('WhatsApp is stopped.');
    return await work(await this.#listening.ready(signal));
  }

  /**
   * Where nothing listens, the connection lasts for what is said only; what arrives on it is kept for the next listener. Resolves with undefined when
   * a listener comes first.
   */
  async #useBriefly<Result>(
    signal: AbortSignal | undefined,
    work: (wire: Wire) => Promise<Result>,
  ): Promise<{ result: Result } | undefined> {
    const stop = new AbortController();
    const { link, run } = this.#newLink(new Health('WhatsApp', this.#context.log), stop.signal);
    const ended = run();
    try {
      const wire = await within({ signal: this.#wanted.signal }, link.ready(signal), () => undefined);
      return wire && { result: await work(wire) };
    } finally {
      stop.abort();
      await ended;
    }
  }
}
