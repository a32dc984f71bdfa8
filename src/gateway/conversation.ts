import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Answer } from '../core/approval.ts';
import type { WatchedProcess } from '../core/background.ts';
import type { Channel, IncomingPress, Place } from '../core/channel.ts';
import type { InboxEntry } from '../core/conversation.ts';
import { HermeticError } from '../core/errors.ts';
import type { SessionKey } from '../core/session.ts';
import { isStoreFault } from '../core/set-aside.ts';
import { settlesWithin } from '../lib/deadline.ts';
import type { Role } from './access.ts';
import { BackgroundReports } from './background-reports.ts';
import { commandIn } from './commands.ts';
import type { ConversationParts } from './conversation-parts.ts';
import { leftOut } from './incoming-files.ts';
import { Lanes } from './lanes.ts';
import { chatOutlet } from './outlet.ts';
import { pressedAnswer } from './question-card.ts';
import { Replies } from './replies.ts';
import { Retries } from './retries.ts';
import { firstOf, type Heard, lastSaid, leastRole, type RunningTurn, roleIn, type Sorting } from './running-turn.ts';
import { endKey } from './turn.ts';
import { UnattendedPace } from './unattended-pace.ts';
import type { Work, WorkStatus } from './work.ts';

const apologyRetryMs = 500;

/** How a turn is carried out. */
type Course = (turn: RunningTurn, heard: readonly Heard[]) => Promise<void>;

/** One session: everything that is said in it, one turn at a time. */
export class Conversation {
  readonly key: SessionKey;
  readonly parts: readonly string[];
  readonly place: Place;
  readonly channel: Channel;
  readonly shared: ConversationParts;
  readonly #lane = new Lanes();
  readonly #replies = new Replies(this);
  readonly #background: BackgroundReports;
  readonly retries: Retries;
  /** Limits turns that start without a message of a person. */
  readonly #pace = new UnattendedPace();
  #turn: RunningTurn | undefined;
  #work: Work | undefined;
  #stopping = false;
  /** What has been seen to wait: it had its chance to interrupt. */
  #inLine = new Set<number>();
  title: string;

  constructor(key: SessionKey, parts: readonly string[], channel: Channel, title: string, shared: ConversationParts) {
    const { user: _, ...place } = key;
    this.key = key;
    this.parts = parts;
    this.place = place;
    this.channel = channel;
    this.title = title;
    this.shared = shared;
    const { background: ledger, inbox, outbox, access } = shared;
    const again = { wake: () => this.#wakeLater(), complain: (error: unknown) => this.complain(error) };
    this.retries = new Retries({ inbox, outbox, setAside: shared.setAside, ...again });
    this.#background = new BackgroundReports({
      session: parts,
      place,
      notify: () => shared.backgroundNotify,
      ledger,
      inbox,
      outbox,
      access,
      turn: () => this.#turn && { from: this.#turn.from, role: this.#turn.role, isDirect: this.#turn.isDirect },
      ...again,
    });
  }

  get isBusy(): boolean {
    return this.#turn !== undefined;
  }

  /** Everything there is to know of it is in the store. */
  get isAtRest(): boolean {
    const isQuiet = this.#background.isAtRest && this.#pace.isAtRest && this.retries.isAtRest;
    return !this.#turn && this.#lane.isIdle && isQuiet && (this.#work?.isAtRest ?? true);
  }

  get work(): Work {
    const { outbox, surroundings } = this.shared;
    const outlet = chatOutlet({
      place: this.place,
      outbox,
      turn: () => this.#turn?.id,
      complain: (error) => this.complain(error),
      background: (event, survives) => this.#background.hear(event, survives),
    });
    this.#work ??= surroundings.work(this.key, { parts: this.parts, title: this.title }, outlet);
    return this.#work;
  }

  /** Looks at what waits. Called whenever something has arrived or a turn has ended. */
  async wake(): Promise<void> {
    if (!this.#stopping) await this.#lane.run('dispatch', () => this.#dispatch());
  }

  /** Resolves when it has looked at what waits and no turn runs, at the latest after this time. */
  async settled(withinMs: number): Promise<void> {
    await settlesWithin(
      withinMs,
      this.#lane.idle().then(() => this.#turn?.over),
    );
  }

  /** For whoever is part of what is woken. */
  #wakeLater(): void {
    void this.wake().catch((error: unknown) => this.complain(error));
  }

  async #dispatch(): Promise<void> {
    const { inbox, access } = this.shared;
    /** What is said before a turn begins is answered together. */
    const together: Heard[] = [];
    const reports: Heard[] = [];
    const running = this.#turn;
    const waiting = await inbox.list('waiting', this.parts);
    for (const entry of waiting) {
      if (this.#stopping) return;
      // What was sent before somebody lost the right to talk is not answered after it.
      const now = await access.roleOf(this.place.platform, entry.incoming.from.id);
      const role = now && roleIn(entry, now);
      if (role === undefined) await inbox.done([entry.seq]);
      else if (await this.retries.mayTry(entry)) {
        await this.#look(entry, role, { together, reports, running }).catch((error) => this.retries.failed(entry, error));
      }
    }
    if (together.length > 0 && !this.#turn) together.unshift(...reports);
    await this.#beginTogether(together);
    await this.#attend(reports);
    const seqs = waiting.map(({ seq }) => seq);
    this.#inLine = new Set([...seqs, ...[...this.#inLine].filter((seq) => seq > (seqs.at(-1) ?? 0))]);
  }

  async #look(entry: InboxEntry, role: Role, { together, reports, running }: Sorting): Promise<void> {
    const { incoming } = entry;
    if (incoming.kind === 'press') await this.#press(entry, incoming, role);
    else if (incoming.report) reports.push({ entry, message: incoming, role });
    else await this.#sort({ entry, message: incoming, role }, together, running);
  }

  /** `running`: the turn that ran when somebody last looked. What waited already when a turn began does not disturb it. */
  async #sort(heard: Heard, together: Heard[], running: RunningTurn | undefined): Promise<void> {
    const { inbox, outbox } = this.shared;
    const { entry, message, role } = heard;
    const found = commandIn(message, role);
    if (found.kind === 'text') {
      if (!this.#turn) together.push(heard);
      else if (this.#turn === running && !this.#inLine.has(entry.seq)) this.#interject(heard);
    } else if (found.kind === 'unknown') {
      await this.retries.trying(entry);
      const say = found.say + leftOut(message.files, found.name);
      await outbox.deliver(this.place, `reply/${entry.seq}`, say, { replyTo: message.id });
      await inbox.done([entry.seq]);
    } else if (!found.command.takesTurn) {
      await this.retries.trying(entry);
      await this.#replies.obey(heard);
      await inbox.done([entry.seq]);
      this.#wakeLater();
    } else {
      await this.#beginTogether(together);
      if (!this.#turn) await this.#begin([heard], false, (turn) => this.#replies.runCommand(turn, heard));
    }
  }

  /** Reports go to the turn that runs, or have one of their own, and then not as often as they come. */
  async #attend(reports: readonly Heard[]): Promise<void> {
    if (reports.length === 0) return;
    if (this.#turn) {
      for (const report of reports) if (!this.#inLine.has(report.entry.seq)) this.steer(report);
    } else if (this.#pace.mayBegin(() => this.#wakeLater())) {
      await this.#begin(reports, true, (turn, heard) => this.#replies.answer(turn, heard));
    }
  }

  async #beginTogether(together: Heard[]): Promise<void> {
    const batch = firstOf(together.splice(0));
    if (batch.length > 0) this.#pace.attended();
    if (batch.length > 0 && !this.#turn) await this.#begin(batch, true, (turn, heard) => this.#replies.answer(turn, heard));
  }

  async #press(entry: InboxEntry, press: IncomingPress, role: Role): Promise<void> {
    await this.retries.trying(entry);
    const given = pressedAnswer(press.data, `${this.place.platform}:${press.from.id}`);
    const said = given ? await this.answerQuestion(given.code, given.answer, role) : 'This button has expired.';
    await this.channel.noticed?.(press, said);
    await this.shared.inbox.done([entry.seq]);
  }

  /** Resolves with what to tell whoever answers. */
  async answerQuestion(code: string, answer: Answer, role: Role): Promise<string> {
    const { cards, surroundings } = this.shared;
    const answerer = { person: answer.by, isAdmin: role === 'admin', from: this.place.platform };
    const { say, settled } = await surroundings.questions.answer(code, answer, answerer);
    if (settled !== undefined) await cards.settle(settled);
    return say;
  }

  /** Somebody says something while a turn runs. */
  #interject(heard: Heard): void {
    const { busyMode } = this.shared;
    if (busyMode === 'interrupt') this.#turn?.controller.abort();
    if (busyMode === 'steer') this.steer(heard);
  }

  /** It waits for the next turn and disturbs none before. */
  keepInLine(seq: number): void {
    this.#inLine.add(seq);
  }

  /** Hands a waiting message to the turn that runs. False when there is none that would take it, and then it waits for the next. */
  steer(heard: Heard): boolean {
    this.keepInLine(heard.entry.seq);
    const turn = this.#turn;
    // Security: nobody gets the rights of another by talking into their turn.
    if (!turn?.takesSteering || (turn.role === 'admin' && heard.role !== 'admin')) return false;
    turn.steering.push(heard);
    return true;
  }

  async #begin(heard: readonly Heard[], takesSteering: boolean, course: Course): Promise<void> {
    const { inbox } = this.shared;
    const id = randomUUID();
    const seqs = heard.map(({ entry }) => entry.seq);
    const taken = new Set(await inbox.begin(seqs, id, leastRole(heard)));
    if (this.#stopping) {
      await inbox.excuse(seqs).catch((error) => this.complain(error));
      return await inbox.release(id);
    }
    const ours = heard.filter(({ entry }) => taken.has(entry.seq));
    if (ours.length > 0) this.#launch(id, ours, takesSteering, course);
  }

  /** Not awaited: a turn may take as long as it wants, and holds up nobody but the next one. */
  #launch(id: string, heard: readonly Heard[], takesSteering: boolean, course: Course): void {
    const over = Promise.withResolvers<void>();
    const turn: RunningTurn = {
      id,
      heard,
      since: new Date(),
      role: leastRole(heard),
      controller: new AbortController(),
      takesSteering,
      from: lastSaid(heard)?.message.from ?? { id: '', name: '' },
      isDirect: heard.every(({ message }) => message.isDirect),
      steering: [],
      steered: [],
      isParked: false,
      over: over.promise,
    };
    this.#turn = turn;
    void this.#carryOut(turn, heard, course).finally(() => {
      this.#turn = undefined;
      over.resolve();
      this.#wakeLater();
    });
  }

  async #carryOut(turn: RunningTurn, heard: readonly Heard[], course: Course): Promise<void> {
    const { inbox } = this.shared;
    const seqs = (): number[] => [...heard, ...turn.steered].map(({ entry }) => entry.seq);
    try {
      await course(turn, heard);
      if (!turn.isParked) await inbox.done(seqs());
    } catch (error) {
      await this.#apologise(turn, seqs(), error);
    }
  }

  /** What failed is said, and not tried again for ever. While the store takes nothing, as on a full disk, it is said as soon as the store does. */
  async #apologise(turn: RunningTurn, seqs: readonly number[], error: unknown): Promise<void> {
    const { inbox, outbox } = this.shared;
    const text =
      error instanceof HermeticError
        ? `${error.message}${error.hint ? ` ${error.hint}` : ''}`
        : 'Something went wrong. See the log of the gateway.';
    if (!(error instanceof HermeticError)) this.complain(error);
    // The next program does it better.
    if (turn.isParked) return;
    for (let attempt = 1; ; attempt++) {
      try {
        await outbox.deliver(this.place, endKey(turn.id), text);
        return await inbox.done(seqs);
      } catch (failure) {
        if (attempt === 1 || !isStoreFault(failure)) this.complain(failure);
        // Only a store that takes nothing gets better by waiting.
        if (!isStoreFault(failure)) return;
        await delay(apologyRetryMs);
        // What was not answered is still in the store as running, for the next start.
        if (this.#stopping) return;
      }
    }
  }

  complain(error: unknown): void {
    const { log } = this.shared.surroundings;
    if (error instanceof HermeticError) log(`A session failed:  ${error.message}${error.hint ? ` ${error.hint}` : ''}`);
    else log(error instanceof Error ? (error.stack ?? error.message) : String(error));
  }

  /** Goes on with a turn that an earlier program began, under its name. */
  resume(turnId: string, heard: readonly Heard[]): void {
    const [only] = heard;
    if (only && commandIn(only.message, only.role).kind === 'command')
      this.#launch(turnId, heard, false, (turn) => this.#replies.runCommand(turn, only));
    else this.#launch(turnId, heard, true, (turn) => this.#replies.goOn(turn, heard));
  }

  /** Background processes that an earlier program started: they are listened to again, or ended with it. */
  async followProcesses(processes: readonly WatchedProcess[]): Promise<void> {
    this.#background.resume(processes);
    for (const { process, command } of processes.filter(({ survives }) => !survives)) {
      const outcome = 'ended together with the gateway, which was restarted';
      await this.#background.hear({ kind: 'ended', process, command, outcome, exitCode: undefined, output: '', isKnown: false }, false);
    }
    const alive = processes.filter(({ survives }) => survives);
    if (alive.length > 0) await this.work.follow(alive);
  }

  /** The turn that runs, for whoever runs a tool in it. */
  get running(): { id: string; since: Date; signal: AbortSignal } | undefined {
    return this.#turn && { id: this.#turn.id, since: this.#turn.since, signal: this.#turn.controller.signal };
  }

  /** What it does now; undefined when nothing runs and no sandbox is open. */
  get doing(): (WorkStatus & { turnSince: Date | undefined }) | undefined {
    const status = this.#work?.status() ?? { sandbox: undefined, running: [] };
    const turnSince = this.#turn?.since;
    return turnSince || status.sandbox || status.running.length > 0 ? { ...status, turnSince } : undefined;
  }

  /** Ends the turn that runs. False when there is none. */
  async stopTurn(why: string): Promise<boolean> {
    const turn = this.#turn;
    await this.shared.surroundings.questions.withdraw(this.parts, why);
    if (!turn) return false;
    turn.controller.abort();
    await turn.over;
    return true;
  }

  async resetConversation(by: string): Promise<void> {
    const { conversations, surroundings } = this.shared;
    const now = new Date();
    await surroundings.questions.endSession(this.parts, by);
    await conversations.session(this.parts, { title: this.title, place: this.place }, now);
    await conversations.reset(this.parts, now);
  }

  /** Lets the turn that runs end by itself for a while, and then takes it out of the way for the next program. */
  async park(patienceMs: number): Promise<void> {
    this.#stopping = true;
    this.#pace.stop();
    this.retries.stop();
    await this.#parkTurn(patienceMs);
    await this.#background.stop();
  }

  async #parkTurn(patienceMs: number): Promise<void> {
    const turn = this.#turn;
    if (!turn) return;
    const { questions } = this.shared.surroundings;
    const isAsking = async (): Promise<boolean> => (await questions.open(this.parts)).length > 0;
    // Nobody waits for a person.
    const isOver = !(await isAsking()) && (await settlesWithin(patienceMs, turn.over));
    if (isOver) return;
    turn.isParked = true;
    await this.shared.inbox.excuse([...turn.heard, ...turn.steered].map(({ entry }) => entry.seq)).catch((error) => this.complain(error));
    // A question stays open for whoever asks it next; ending the turn would take it back.
    if (await isAsking()) return;
    turn.controller.abort();
    await turn.over;
  }
}
