import type { Place } from '../../core/channel.ts';
import { waitsForPerson, waitText } from '../../core/waits.ts';
import { printable } from '../../lib/printable.ts';
import type { RunningWork } from '../deps.ts';
import type { Outbox } from '../outbox/outbox.ts';
import type { ChatSession } from '../session.ts';

const lookEveryMs = 1000;
/** Calls that end sooner are not shown. */
const firstAfterMs = 2000;
const maxTextLength = 80;

/**
 * One message that shows what a turn is doing, is changed in place and removed when the turn ends. For a channel without activities. The message
 * is in the outbox, so that the next program finds and removes it when this one dies.
 */
export class StatusLine {
  readonly #session: ChatSession;
  readonly #turn: string;
  readonly #timer: NodeJS.Timeout | undefined;
  #key: string | undefined;
  #adding: Promise<void> = Promise.resolve();
  #shown = '';
  #isOver = false;

  constructor(session: ChatSession, turn: string) {
    this.#session = session;
    this.#turn = turn;
    const { activity, remove, traits } = session.channel;
    if (!activity && remove && traits.editEveryMs !== undefined) this.#timer = setInterval(() => this.#look(), lookEveryMs);
  }

  /** Resolves when its removal is stored. Never rejects. */
  async end(): Promise<void> {
    clearInterval(this.#timer);
    this.#isOver = true;
    await this.#adding;
    const { place, deps, logError } = this.#session;
    if (this.#key !== undefined) await removeLine(deps.outbox, place, this.#key).catch(logError);
  }

  #look(): void {
    const { place, deps, tools, logError } = this.#session;
    const now = Date.now();
    // A call that waits for a person has a card of its own.
    const isShown = ({ isBackground, waitsFor }: RunningWork): boolean => !isBackground && !(waitsFor && waitsForPerson.has(waitsFor.kind));
    const calls = tools.status().running.filter(isShown);
    const isLong = calls.some(({ since }) => now - since.getTime() >= firstAfterMs);
    if (this.#shown === '' && !isLong) return;
    const text = textOf(calls, now);
    if (text === this.#shown) return;
    const isFirst = this.#shown === '';
    this.#shown = text;
    if (isFirst) this.#adding = this.#add(text).catch(logError);
    else if (this.#key !== undefined) deps.outbox.show(place, this.#key, text);
  }

  async #add(text: string): Promise<void> {
    const { place, deps } = this.#session;
    // An earlier program may have had one for the same turn.
    for (let count = 1; this.#key === undefined && !this.#isOver; count++) {
      const key = lineKey(this.#turn, count);
      if (await deps.outbox.add(place, [{ key, message: { text, isQuiet: true }, isDraft: true }])) this.#key = key;
    }
  }
}

/** Removes the status lines that an earlier program left of a turn. */
export async function removeStatusLines(outbox: Outbox, place: Place, turn: string): Promise<void> {
  for (let count = 1; await outbox.find(lineKey(turn, count)); count++) await removeLine(outbox, place, lineKey(turn, count));
}

async function removeLine(outbox: Outbox, place: Place, key: string): Promise<void> {
  await outbox.add(place, [{ key: `${key}/end`, message: { text: '' }, replaces: key, isRemoval: true }]);
}

function lineKey(turn: string, count: number): string {
  return `status/${turn}/${count}`;
}

function textOf([first, ...more]: readonly RunningWork[], now: number): string {
  if (!first) return 'Thinking…';
  const line = printable(first.text);
  const what = line === '' ? first.tool : code(line.length > maxTextLength ? `${line.slice(0, maxTextLength)}…` : line);
  const others = more.length > 0 ? `, and ${more.length} more` : '';
  const time = elapsed(now - first.since.getTime());
  const doing = first.waitsFor ? `${waitText(first.waitsFor).replace('w', 'W')}:` : 'Running';
  return `${doing} ${what}${others} (${time})`;
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
