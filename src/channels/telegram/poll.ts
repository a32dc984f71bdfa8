import type { Update } from 'grammy/types';
import type { Accept } from '../../core/channel.ts';
import { HermeticError } from '../../core/errors.ts';
import type { Deliveries } from '../../core/set-aside.ts';
import { backoffMs } from '../../lib/backoff.ts';
import { settlesWithin } from '../../lib/deadline.ts';
import { pause } from '../../lib/pause.ts';
import { CallError } from '../call-error.ts';
import type { Health } from '../health.ts';
import { Intake } from '../intake.ts';
import type { BotClient } from './bot-client.ts';
import { isUnauthorised, reasonOf, tokenHint } from './failures.ts';
import { chatOf, parseUpdate, type Self, wantedUpdates } from './parse.ts';
import { UpdateWindow } from './update-window.ts';

const introductionMs = 10_000;
const longPollSeconds = 30;
const conflictPollSeconds = 3;
/** Updates per request, and so how far we see beyond one that is not accepted. */
const maxUpdates = 100;
const maxCommands = 100;
const pauses = { firstMs: 250, maxMs: 30_000 };
/** How long to wait for what is being accepted before asking for more, and when there was nothing new. */
const settleMs = 200;
const heldPollMs = 1000;
/** How long stopping waits for what is being accepted at that moment, and for the last confirmation. */
const farewellMs = 1000;

export interface PollParts {
  client: BotClient;
  accept: Accept;
  health: Health;
  log: (sentence: string) => void;
  commands: readonly { name: string; help: string }[];
  deliveries: Deliveries | undefined;
}

/** How often each was tried before, by this program or by earlier ones; undefined for one that was set aside. */
type Tries = ReadonlyMap<string, number | undefined>;

/** Who we are; undefined when Telegram cannot be asked now. Rejects when it knows no such bot. */
export async function introduce(client: BotClient, health: Health, signal: AbortSignal): Promise<Self | undefined> {
  try {
    const self = await client.call((api, cancel) => api.getMe(cancel), { timeoutMs: introductionMs, signal });
    health.report('connection', undefined);
    return self;
  } catch (error) {
    if (!(error instanceof CallError)) return undefined;
    if (isUnauthorised(error)) throw new HermeticError('channel/unusable', reasonOf(error), { hint: tokenHint });
    health.report('connection', reasonOf(error));
    return undefined;
  }
}

/** Listens until the signal. An update is confirmed when it and everything before it was accepted or set aside. */
export class Poll {
  readonly #parts: PollParts;
  readonly #signal: AbortSignal;
  readonly #window = new UpdateWindow();
  readonly #intake: Intake;
  /** In a row. */
  #failures = 0;
  /** How often something else took our place since we last listened undisturbed. */
  #conflicts = 0;
  #self: Self | undefined;
  #isIntroduced = false;

  constructor(parts: PollParts, self: Self | undefined, signal: AbortSignal) {
    this.#parts = parts;
    this.#self = self;
    this.#signal = signal;
    this.#intake = new Intake({ ...parts, name: 'Telegram', signal });
  }

  async run(): Promise<void> {
    if (!this.#self) this.#failures = 1;
    while (!this.#signal.aborted) {
      try {
        if (this.#failures > 0) await pause(backoffMs(Math.max(this.#failures, this.#conflicts), pauses), this.#signal);
        await this.#listen(await this.#introduction());
      } catch (error) {
        if (!this.#signal.aborted) await this.#failed(error);
      }
    }
    await this.#farewell();
  }

  async #listen(self: Self): Promise<void> {
    const seconds = this.#pollSeconds();
    const fresh = await this.#receive(seconds);
    this.#failures = 0;
    // Another poller of this token lets an immediate answer pass and takes the next one away.
    if (seconds > 0) this.#conflicts = 0;
    if (this.#conflicts === 0) this.#parts.health.report('connection', undefined);
    const tries = await this.#tries(fresh);
    for (const update of fresh) this.#handle(update, self, tries);
    await this.#window.settled(fresh.length > 0 ? settleMs : heldPollMs, this.#signal);
    if (fresh.length > 0) await this.#parts.deliveries?.trying([], this.#window.open.map(String)).catch(() => undefined);
  }

  #pollSeconds(): number {
    if (this.#window.isHeld) return 0;
    if (this.#conflicts > 0) return conflictPollSeconds;
    // After a failure ask for an immediate answer, so that the state is known before the next message.
    return this.#failures > 0 ? 0 : longPollSeconds;
  }

  async #failed(error: unknown): Promise<void> {
    const name = error instanceof Error ? error.name : typeof error;
    const known = error instanceof CallError ? error : new CallError(`something unexpected (${name})`);
    this.#failures += 1;
    if (known.status === 409) this.#conflicts += 1;
    // An idle connection may have been closed; that alone is no failure.
    if (known.status !== undefined || this.#failures > 1) this.#parts.health.report('connection', reasonOf(known));
    if (known.retryAfterMs !== undefined) await pause(known.retryAfterMs, this.#signal);
  }

  /** Makes sure of who we are, and of no webhook that takes our updates. Those that wait are kept. */
  async #introduction(): Promise<Self> {
    const { client } = this.#parts;
    this.#self ??= await client.call((api, cancel) => api.getMe(cancel), { signal: this.#signal });
    if (this.#isIntroduced) return this.#self;
    await client.call((api, cancel) => api.deleteWebhook({ drop_pending_updates: false }, cancel), { signal: this.#signal });
    this.#isIntroduced = true;
    await this.#showCommands();
    return this.#self;
  }

  /** The menu beside the field where people write; nothing depends on it. */
  async #showCommands(): Promise<void> {
    const { client, log } = this.#parts;
    const commands = this.#parts.commands
      .filter(({ name }) => /^[a-z0-9_]{1,32}$/.test(name))
      .slice(0, maxCommands)
      .map(({ name, help }) => ({ command: name, description: help.slice(0, 256) || name }));
    if (commands.length === 0) return;
    try {
      await client.call((api, cancel) => api.setMyCommands({ commands }, cancel), { signal: this.#signal });
    } catch (error) {
      if (error instanceof CallError) log(`Telegram does not show the commands: ${error.message}.`);
    }
  }

  async #receive(timeout: number): Promise<Update[]> {
    const offset = this.#window.offset;
    const updates = await this.#parts.client.call(
      (api, cancel) =>
        api.getUpdates({ ...(offset !== undefined && { offset }), limit: maxUpdates, timeout, allowed_updates: wantedUpdates }, cancel),
      { timeoutMs: (timeout + 15) * 1000, signal: this.#signal, isApart: true },
    );
    this.#window.confirmed(offset);
    const numbered = updates.filter((update) => Number.isSafeInteger(update?.update_id));
    // An update without a number cannot be confirmed, and comes again at once.
    if (numbered.length < updates.length) await pause(heldPollMs, this.#signal);
    return numbered.filter(({ update_id }) => this.#window.begin(update_id));
  }

  /** Counted before they are looked at, and forgotten when they are accepted. Without the store nothing is accepted either, and nothing is lost. */
  async #tries(fresh: readonly Update[]): Promise<Tries> {
    if (fresh.length === 0) return new Map();
    const ids = fresh.map(({ update_id }) => String(update_id));
    const counted = this.#parts.deliveries?.trying(ids, this.#window.open.map(String));
    return (await counted?.catch(() => undefined)) ?? new Map(ids.map((id) => [id, 0]));
  }

  #handle(update: Update, self: Self, tries: Tries): void {
    const id = update.update_id;
    const tried = tries.get(String(id));
    const chat = laneOf(update);
    if (chat === undefined || tried === undefined) {
      this.#window.accepted(id);
      return;
    }
    const delivery = { id: String(id), chat, read: () => parseUpdate(update, self), content: () => JSON.stringify(update) };
    void this.#intake.take(delivery, tried).then((isDone) => {
      if (isDone) this.#window.accepted(id);
    });
  }

  /** So that what was accepted does not come again. When it fails it does, which is no harm. */
  async #farewell(): Promise<void> {
    await settlesWithin(farewellMs, this.#intake.idle());
    const offset = this.#window.offset;
    if (offset === undefined) return;
    const confirmation = this.#parts.client.call((api, cancel) => api.getUpdates({ offset, limit: 1, timeout: 0 }, cancel), {
      timeoutMs: farewellMs,
      isApart: true,
    });
    await confirmation.catch((error: CallError) => this.#parts.log(`Telegram was not told what had arrived: ${error.message}.`));
  }
}

/** Whose order it is handled in: that of its chat. What should name one and does not waits for nothing. */
function laneOf(update: Update): string | undefined {
  return chatOf(update) ?? (update.message || update.callback_query?.message ? `update ${update.update_id}` : undefined);
}
