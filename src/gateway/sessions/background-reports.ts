import { randomUUID } from 'node:crypto';
import type { BackgroundEvent, BackgroundLedger, BackgroundNotice, WatchedProcess } from '../../core/background.ts';
import type { IncomingMessage, Person, Place } from '../../core/channel.ts';
import type { InboxLedger } from '../../core/conversation.ts';
import { fenced } from '../../lib/fenced.ts';
import { Lane } from '../../lib/lanes.ts';
import type { Access, Role } from '../access.ts';
import type { Outbox } from '../outbox/outbox.ts';

/** `turn`: a report starts a turn of the agent. `message`: people read it in the chat. */
export type BackgroundNotify = 'turn' | 'message' | 'off';

export interface BackgroundReportsOptions {
  session: readonly string[];
  place: Place;
  notify(): BackgroundNotify;
  ledger: BackgroundLedger;
  inbox: InboxLedger;
  outbox: Outbox;
  access: Access;
  /** Whose turn runs. */
  turn(): { from: Person; role: Role; isDirect: boolean } | undefined;
  /** There is something new in the inbox. */
  wake(): void;
  logError(error: unknown): void;
}

/** Between two reports of texts that were looked for; twice as long each time, until it was quiet for as long. */
const firstGapMs = 10_000;
const longestGapMs = 10 * 60_000;
/** A report has at most so many notices. */
const maxNotices = 10;

type Owned = { notice: BackgroundNotice; owner: WatchedProcess };

/**
 * Tells a session what becomes of its background processes. Each is in the ledger until its end is in the inbox or the outbox, under a name that
 * takes it once: the next program reports a process that ended while no program ran, or with it.
 */
export class BackgroundReports {
  readonly #options: BackgroundReportsOptions;
  readonly #watched = new Map<string, WatchedProcess>();
  readonly #pending: Owned[] = [];
  #omitted = 0;
  #lastAt = 0;
  #gapMs = firstGapMs;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  readonly #lane = new Lane();

  constructor(options: BackgroundReportsOptions) {
    this.#options = options;
  }

  get isAtRest(): boolean {
    return this.#timer === undefined && this.#lane.isIdle;
  }

  /** One after the other. Resolves when it is stored; never rejects. */
  hear(event: BackgroundEvent, survives: boolean): Promise<void> {
    if (this.#isStopped) return Promise.resolve();
    return this.#next(() => this.#handle(event, survives));
  }

  /** Those that an earlier program started. */
  resume(processes: readonly WatchedProcess[]): void {
    for (const watched of processes) this.#watched.set(watched.process, watched);
  }

  /** Leaves later events to the next program. Notices that wait for a report are stored when this resolves. */
  async stop(): Promise<void> {
    if (this.#pending.length > 0) await this.#next(() => this.#flush());
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #next(task: () => Promise<void>): Promise<void> {
    await this.#lane.run(() => task().catch((error: unknown) => this.#options.logError(error)));
  }

  async #handle(event: BackgroundEvent, survives: boolean): Promise<void> {
    const { process } = event;
    const isOff = this.#options.notify() === 'off';
    if (event.kind === 'started') return isOff ? undefined : await this.#watch(event, survives);
    const owner = this.#watched.get(process);
    if (!owner) return;
    // Security: the command as it was started. After a restart the sandbox is asked, and may say anything.
    const about = { process, command: owner.command };
    if (event.kind === 'matched') {
      if (isOff) return;
      const more = event.suppressed > 0 ? `, and ${event.suppressed} earlier matches were not reported` : '';
      const what = `printed the text ${JSON.stringify(event.pattern)}${more}`;
      return this.#queue({ owner, notice: { ...about, what, output: event.line } });
    }
    if (!event.isKnown && !isOff) {
      const ended = { owner, notice: { ...about, what: event.outcome, output: event.output } };
      const before = this.#pending.filter((one) => ownerOf(one) === ownerOf(ended));
      await this.#report(owner, [...before, ended], `background/${process}/end`);
      this.#forget(before);
    }
    await this.#options.ledger.remove(this.#options.session, process);
    this.#watched.delete(process);
  }

  async #watch({ process, command, patterns }: BackgroundEvent & { kind: 'started' }, survives: boolean): Promise<void> {
    const { session, place, ledger, turn } = this.#options;
    const running = turn();
    if (!running) return;
    const watched = { session, process, command, patterns, place, ...running, survives, startedAt: new Date() };
    this.#watched.set(process, watched);
    await ledger.add(watched);
  }

  /** Not at once when there was one shortly before: a process may print it for ever. */
  #queue(found: Owned): void {
    if (this.#pending.length < maxNotices) this.#pending.push(found);
    else this.#omitted += 1;
    const waitMs = this.#lastAt + this.#gapMs - Date.now();
    if (waitMs < -this.#gapMs) this.#gapMs = firstGapMs;
    this.#timer ??= setTimeout(
      () => {
        this.#timer = undefined;
        void this.#next(() => this.#flush());
      },
      Math.max(0, waitMs),
    );
  }

  async #flush(): Promise<void> {
    if (this.#isStopped) return;
    const isSoon = Date.now() - this.#lastAt < 2 * this.#gapMs;
    if (this.#lastAt > 0 && isSoon) this.#gapMs = Math.min(longestGapMs, 2 * this.#gapMs);
    this.#lastAt = Date.now();
    for (const found of Map.groupBy([...this.#pending], ownerOf).values()) {
      const owner = found[0]?.owner;
      if (owner) await this.#report(owner, found, `background/${owner.process}/found/${randomUUID()}`);
      this.#forget(found);
    }
  }

  #forget(reported: readonly Owned[]): void {
    for (const one of reported) this.#pending.splice(this.#pending.indexOf(one), 1);
  }

  async #report(owner: WatchedProcess, found: readonly Owned[], id: string): Promise<void> {
    const { session, notify, inbox, outbox, access, wake } = this.#options;
    const report = { role: owner.role, notices: found.map(({ notice }) => notice), omitted: this.#omitted };
    this.#omitted = 0;
    if (notify() === 'turn') {
      await inbox.accept(session, reportMessage(owner, id, report), new Date());
      wake();
      // Security: no report goes out on behalf of a person who may not talk any more.
    } else if ((await access.roleOf(owner.place.platform, owner.from)) !== undefined) {
      await outbox.deliver(owner.place, `${JSON.stringify(session)}/${id}`, chatText(report));
    }
  }
}

/** Notices in one report have one owner. */
function ownerOf({ owner: { from, role, isDirect } }: Owned): string {
  return JSON.stringify([from.id, role, isDirect]);
}

/** The report as an incoming message, in the session that started the processes. */
export function reportMessage(
  { place, from, isDirect }: WatchedProcess,
  id: string,
  report: NonNullable<IncomingMessage['report']>,
): IncomingMessage {
  return { kind: 'message', id, place, from, at: new Date(), text: '', isDirect, isAddressed: true, quoted: undefined, files: [], report };
}

function chatText({ notices, omitted }: NonNullable<IncomingMessage['report']>): string {
  const texts = notices.map(({ process, command, what, output }) => {
    const shown = `$ ${command}\n${output}`;
    return `Background process \`${process}\` ${what.replaceAll('`', "'")}.\n${fenced(shown)}`;
  });
  return [...texts, ...(omitted > 0 ? [`${omitted} more not shown.`] : [])].join('\n');
}
