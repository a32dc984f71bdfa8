import type { Channel, Place } from '../core/channel.ts';
import { printable } from '../lib/printable.ts';
import type { Outbox } from './outbox.ts';
import type { WorkStatus } from './work.ts';

export interface StatusLineOptions {
  turn: string;
  place: Place;
  channel: Channel;
  outbox: Outbox;
  running(): WorkStatus['running'];
  complain(error: unknown): void;
}

const lookEveryMs = 1000;
/** Calls that end sooner are not shown. */
const firstAfterMs = 2000;
const maxTextLength = 80;

/**
 * What a turn is doing, in one message that is changed in place and goes when the turn ends. For a channel that shows nothing else of it. The
 * message is in the outbox, so that the next program finds and removes it when this one dies.
 */
export class StatusLine {
  readonly #options: StatusLineOptions;
  readonly #timer: NodeJS.Timeout | undefined;
  #key: string | undefined;
  #adding: Promise<void> = Promise.resolve();
  #shown = '';
  #isOver = false;

  constructor(options: StatusLineOptions) {
    this.#options = options;
    const { activity, remove, traits } = options.channel;
    if (!activity && remove && traits.editEveryMs !== undefined) this.#timer = setInterval(() => this.#look(), lookEveryMs);
  }

  /** Resolves when it is stored that it goes. */
  async end(): Promise<void> {
    clearInterval(this.#timer);
    this.#isOver = true;
    await this.#adding;
    const { place, outbox } = this.#options;
    if (this.#key !== undefined) await removeLine(outbox, place, this.#key);
  }

  #look(): void {
    const { place, outbox, running, complain } = this.#options;
    const now = Date.now();
    const calls = running().filter(({ isBackground }) => !isBackground);
    const isLong = calls.some(({ since }) => now - since.getTime() >= firstAfterMs);
    if (this.#shown === '' && !isLong) return;
    const text = textOf(calls, now);
    if (text === this.#shown) return;
    const isFirst = this.#shown === '';
    this.#shown = text;
    if (isFirst) this.#adding = this.#add(text).catch(complain);
    else if (this.#key !== undefined) outbox.show(place, this.#key, text);
  }

  async #add(text: string): Promise<void> {
    const { turn, place, outbox } = this.#options;
    // An earlier program may have had one for the same turn.
    for (let count = 1; this.#key === undefined && !this.#isOver; count++) {
      const key = lineKey(turn, count);
      if (await outbox.add(place, [{ key, message: { text, isQuiet: true }, isDraft: true }])) this.#key = key;
    }
  }
}

/** Removes what an earlier program has left of a turn. */
export async function removeStatusLines(outbox: Outbox, place: Place, turn: string): Promise<void> {
  for (let count = 1; await outbox.find(lineKey(turn, count)); count++) await removeLine(outbox, place, lineKey(turn, count));
}

async function removeLine(outbox: Outbox, place: Place, key: string): Promise<void> {
  await outbox.add(place, [{ key: `${key}/end`, message: { text: '' }, replaces: key, isRemoval: true }]);
}

function lineKey(turn: string, count: number): string {
  return `status/${turn}/${count}`;
}

function textOf([first, ...more]: WorkStatus['running'], now: number): string {
  if (!first) return 'Thinking…';
  const line = printable(first.text);
  const what = line === '' ? first.tool : code(line.length > maxTextLength ? `${line.slice(0, maxTextLength)}…` : line);
  const others = more.length > 0 ? `, and ${more.length} more` : '';
  return `Running ${what}${others} (${elapsed(now - first.since.getTime())})`;
}

/** Not exact: every change of it is a request to the platform. */
function elapsed(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${seconds < 5 ? seconds : seconds - (seconds % 5)} s`;
  return seconds < 3600 ? `${Math.floor(seconds / 60)} min` : `${Math.floor(seconds / 3600)} h`;
}

/** Security: always inline code, so that nothing in a command becomes a link or a mention. */
function code(text: string): string {
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const mark = '`'.repeat(longest + 1);
  const space = longest > 0 ? ' ' : '';
  return `${mark}${space}${text}${space}${mark}`;
}
