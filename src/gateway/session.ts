import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Model } from '../core/agent.ts';
import type { WatchedProcess } from '../core/background.ts';
import type { Channel, IncomingPress, Place } from '../core/channel.ts';
import type { InboxEntry, SessionEntry } from '../core/conversation.ts';
import { HermeticError } from '../core/errors.ts';
import type { SessionId } from '../core/session.ts';
import { isStoreFault } from '../core/set-aside.ts';
import { settlesWithin } from '../lib/deadline.ts';
import { Lane } from '../lib/lanes.ts';
import type { Role } from './access.ts';
import { commandIn } from './commands/index.ts';
import { runCommand, runCommandTurn } from './commands/run-command.ts';
import type { TurnActivity } from './commands/session-lines.ts';
import type { ChatSink, GatewayDeps, SessionTools, ToolsStatus } from './deps.ts';
import { answerToNumber, answerToPress } from './questions/given-answers.ts';
import { BackgroundReports } from './sessions/background-reports.ts';
import { Retries } from './sessions/retries.ts';
import { UnattendedPace } from './sessions/unattended-pace.ts';
import { resumeTurn, runTurn } from './turn.ts';
import { leftOut } from './turns/incoming-files.ts';
import { type AcceptedMessage, endKey, firstBatch, lastByPerson, minRole, type RunningTurn, roleIn } from './turns/running-turn.ts';
import { maxFileBytes, sendFile } from './turns/sent-files.ts';
import { traceTurn } from './turns/turn-trace.ts';

const apologyRetryMs = 500;

type TurnHandler = (turn: RunningTurn) => Promise<void>;

/** The messages of one look at the inbox, by what is done about them. */
interface Batch {
  messages: AcceptedMessage[];
  reports: AcceptedMessage[];
  /** The turn that ran when the look began. */
  running: RunningTurn | undefined;
}

/** One session in the gateway: its messages, one turn at a time, its tools and its background processes. */
export class ChatSession {
  readonly id: SessionId;
  readonly place: Place;
  readonly channel: Channel;
  readonly title: string;
  readonly deps: GatewayDeps;
  readonly retries: Retries;
  readonly #lane = new Lane();
  readonly #background: BackgroundReports;
  /** Limits turns that start without a message of a person. */
  readonly #pace = new UnattendedPace();
  #turn: RunningTurn | undefined;
  #tools: SessionTools | undefined;
  #stopping = false;
  /** Waiting messages that had their chance to interrupt. */
  #queued = new Set<number>();

  constructor(id: SessionId, channel: Channel, title: string, deps: GatewayDeps) {
    const { user: _, ...place } = id.key;
    this.id = id;
    this.place = place;
    this.channel = channel;
    this.title = title;
    this.deps = deps;
    const { store, outbox, access, settings, setAside } = deps;
    const common = { inbox: store.inbox, outbox, wake: () => this.#wakeLater(), logError: this.logError };
    this.retries = new Retries({ ...common, setAside });
    this.#background = new BackgroundReports({
      ...common,
      session: id.parts,
      place,
      notify: () => settings.backgroundNotify,
      ledger: store.background,
      access,
      turn: () => this.#turn && { from: this.#turn.from, role: this.#turn.role, isDirect: this.#turn.isDirect },
    });
  }

  get isBusy(): boolean {
    return this.#turn !== undefined;
  }

  /** Everything about it is in the store. */
  get isAtRest(): boolean {
    const isQuiet = this.#background.isAtRest && this.#pace.isAtRest && this.retries.isAtRest;
    return !this.#turn && this.#lane.isIdle && isQuiet && (this.#tools?.isAtRest ?? true);
  }

  get tools(): SessionTools {
    this.#tools ??= this.deps.sessionTools(this.id, this.title, this.#sink());
    return this.#tools;
  }

  /** The model chosen in this session, or the configured one. */
  async model(choices?: SessionEntry['choices']): Promise<Model> {
    const choice = (choices ?? (await this.deps.store.conversations.find(this.id.parts))?.choices)?.model;
    return await this.deps.model(typeof choice === 'string' ? choice : undefined);
  }

  /** The same notice about a sandbox is sent once in a turn. */
  #sink(): ChatSink {
    const { place } = this;
    const { outbox } = this.deps;
    return {
      maxFileBytes: () => maxFileBytes(this),
      file: (file, caption, signal) => sendFile(this, file, caption, signal),
      notice: (text) => void outbox.deliver(place, `notice/${this.#turn?.id ?? randomUUID()}/${text}`, text).catch(this.logError),
      background: (event, survives) => this.#background.hear(event, survives),
    };
  }

  /** Looks at the waiting messages. Called whenever one has arrived or a turn has ended. */
  async wake(): Promise<void> {
    if (!this.#stopping) await this.#lane.run(() => this.#dispatch().then(this.retries.looked, this.retries.stalled));
  }

  /** Resolves when it has looked at the waiting messages and no turn runs, at the latest after this time. */
  async settled(withinMs: number): Promise<void> {
    await settlesWithin(
      withinMs,
      this.#lane.idle().then(() => this.#turn?.over),
    );
  }

  /** Not awaited: the caller may be part of the dispatch that this waits for. */
  #wakeLater(): void {
    void this.wake().catch(this.logError);
  }

  async #dispatch(): Promise<void> {
    const { store, access } = this.deps;
    const batch: Batch = { messages: [], reports: [], running: this.#turn };
    const waiting = await store.inbox.list('waiting', this.id.parts);
    for (const entry of waiting) {
      if (this.#stopping) return;
      // Security: a message sent before its person lost the right to talk is not answered after it.
      const now = await access.roleOf(this.place.platform, entry.incoming.from);
      const role = now && roleIn(entry, now);
      if (role === undefined) await store.inbox.done([entry.seq]);
      else if (await this.retries.mayTry(entry)) {
        await this.#handle(entry, role, batch).catch((error) => this.retries.failed(entry, error));
      }
    }
    const { messages, reports } = batch;
    if (messages.length > 0 && !this.#turn) messages.unshift(...reports);
    await this.#beginBatch(messages);
    await this.#handleReports(reports);
    const seqs = waiting.map(({ seq }) => seq);
    this.#queued = new Set([...seqs, ...[...this.#queued].filter((seq) => seq > (seqs.at(-1) ?? 0))]);
  }

  async #handle(entry: InboxEntry, role: Role, batch: Batch): Promise<void> {
    const { incoming } = entry;
    if (incoming.kind === 'press') await this.#press(entry, incoming, role);
    else if (incoming.report) batch.reports.push({ entry, message: incoming, role });
    else await this.#handleMessage({ entry, message: incoming, role }, batch);
  }

  /** A message that waited already when a turn began does not disturb it. */
  async #handleMessage(accepted: AcceptedMessage, { messages, running }: Batch): Promise<void> {
    const { store, outbox } = this.deps;
    const { entry, message, role } = accepted;
    const sign = this.channel.traits.commandSign;
    const found = commandIn(message, role, sign);
    if (found.kind === 'text' && (await this.#answerByNumber(accepted))) return;
    if (found.kind === 'text') {
      if (!this.#turn) messages.push(accepted);
      else if (this.#turn === running && !this.#queued.has(entry.seq)) this.#interject(accepted);
    } else if (found.kind === 'unknown') {
      await this.retries.trying(entry);
      const text = found.say + leftOut(message.files, found.name, sign);
      await outbox.deliver(this.place, `reply/${entry.seq}`, text, { replyTo: message.id });
      await store.inbox.done([entry.seq]);
    } else if (!found.command.takesTurn) {
      await this.retries.trying(entry);
      await runCommand(this, accepted);
      await store.inbox.done([entry.seq]);
      this.#wakeLater();
    } else {
      await this.#beginBatch(messages);
      if (!this.#turn) await this.#begin([accepted], false, (turn) => runCommandTurn(this, turn, accepted));
    }
  }

  /** Reports go to the turn that runs, or have one of their own, and then not as often as they come. */
  async #handleReports(reports: readonly AcceptedMessage[]): Promise<void> {
    if (reports.length === 0) return;
    if (this.#turn) {
      for (const report of reports) if (!this.#queued.has(report.entry.seq)) this.steer(report);
    } else if (this.#pace.mayBegin(() => this.#wakeLater())) {
      await this.#begin(reports, true, (turn) => runTurn(this, turn));
    }
  }

  /** Messages sent before a turn begins are answered together. */
  async #beginBatch(messages: AcceptedMessage[]): Promise<void> {
    const batch = firstBatch(messages.splice(0));
    if (batch.length > 0) this.#pace.attended();
    if (batch.length > 0 && !this.#turn) await this.#begin(batch, true, (turn) => runTurn(this, turn));
  }

  async #press(entry: InboxEntry, press: IncomingPress, role: Role): Promise<void> {
    await this.retries.trying(entry);
    const reply = await answerToPress(this.deps.approvals, press, role);
    // What follows does not wait for it: it may take a while until the platform takes it.
    if (reply !== undefined) void this.deps.outbox.noticed(press, reply);
    await this.deps.store.inbox.done([entry.seq]);
  }

  /** False when the message is not the number of an answer to a question. */
  async #answerByNumber({ entry, message, role }: AcceptedMessage): Promise<boolean> {
    const { approvals, outbox, store } = this.deps;
    const answer = this.channel.traits.buttons ? undefined : await answerToNumber(approvals, message, entry.receivedAt);
    if (!answer) return false;
    await this.retries.trying(entry);
    await outbox.deliver(this.place, `reply/${entry.seq}`, await answer(role), { replyTo: message.id });
    await store.inbox.done([entry.seq]);
    return true;
  }

  /** A message comes while a turn runs. */
  #interject(accepted: AcceptedMessage): void {
    const { busyMode } = this.deps.settings;
    traceTurn(this.#turn?.id ?? '', () => `message ${accepted.entry.seq} comes meanwhile: ${busyMode}`);
    if (busyMode === 'interrupt') this.#turn?.controller.abort();
    if (busyMode === 'steer') this.steer(accepted);
  }

  /** It waits for the next turn and disturbs none before. */
  queue(seq: number): void {
    this.#queued.add(seq);
  }

  /** Hands a waiting message to the turn that runs. False when there is none that would take it, and then it waits for the next. */
  steer(accepted: AcceptedMessage): boolean {
    this.queue(accepted.entry.seq);
    const turn = this.#turn;
    // Security: talking into the turn of an admin does not give the rights of an admin.
    if (!turn?.takesSteering || (turn.role === 'admin' && accepted.role !== 'admin')) return false;
    turn.steering.push(accepted);
    return true;
  }

  async #begin(messages: readonly AcceptedMessage[], takesSteering: boolean, handler: TurnHandler): Promise<void> {
    const { inbox } = this.deps.store;
    const id = randomUUID();
    const seqs = messages.map(({ entry }) => entry.seq);
    const taken = new Set(await inbox.begin(seqs, id, minRole(messages)));
    if (this.#stopping) {
      await inbox.excuse(seqs).catch(this.logError);
      return await inbox.release(id);
    }
    const ours = messages.filter(({ entry }) => taken.has(entry.seq));
    if (ours.length > 0) this.#launch(id, ours, takesSteering, handler);
  }

  /** Not awaited: a turn may take as long as it wants, and holds up only the next one. */
  #launch(id: string, messages: readonly AcceptedMessage[], takesSteering: boolean, handler: TurnHandler): void {
    const over = Promise.withResolvers<void>();
    const turn: RunningTurn = {
      id,
      messages,
      since: new Date(),
      modelAskedAt: undefined,
      role: minRole(messages),
      controller: new AbortController(),
      takesSteering,
      from: lastByPerson(messages)?.message.from ?? { id: '', name: '' },
      isDirect: messages.every(({ message }) => message.isDirect),
      steering: [],
      steered: [],
      isParked: false,
      over: over.promise,
    };
    this.#turn = turn;
    traceTurn(id, () => `begins in ${this.id.text}, messages ${seqsOf(turn).join(' ')}`);
    void this.#carryOut(turn, handler).finally(() => {
      traceTurn(id, () => (turn.isParked ? 'is left for the next start' : 'has ended'));
      this.#turn = undefined;
      over.resolve();
      this.#wakeLater();
    });
  }

  async #carryOut(turn: RunningTurn, handler: TurnHandler): Promise<void> {
    try {
      await handler(turn);
      if (!turn.isParked) await this.deps.store.inbox.done(seqsOf(turn));
    } catch (error) {
      await this.#apologise(turn, error);
    }
  }

  /** Reports once that the turn failed. While the store takes nothing, as on a full disk, it waits for the store. */
  async #apologise(turn: RunningTurn, error: unknown): Promise<void> {
    const { store, outbox } = this.deps;
    const isExpected = error instanceof HermeticError;
    const text = isExpected ? `${error.message}${error.hint ? ` ${error.hint}` : ''}` : 'Something went wrong. See the log of the gateway.';
    if (!isExpected) this.logError(error);
    // The next program resumes it.
    if (turn.isParked) return;
    for (let attempt = 1; ; attempt++) {
      try {
        await outbox.deliver(this.place, endKey(turn.id), text);
        return await store.inbox.done(seqsOf(turn));
      } catch (failure) {
        if (attempt === 1 || !isStoreFault(failure)) this.logError(failure);
        // Only a store that takes nothing gets better by waiting.
        if (!isStoreFault(failure)) return;
        await delay(apologyRetryMs);
        // The messages are still in the store as running, for the next start.
        if (this.#stopping) return;
      }
    }
  }

  readonly logError = (error: unknown): void => {
    const { log } = this.deps;
    if (error instanceof HermeticError) log(`A session failed: ${error.message}${error.hint ? ` ${error.hint}` : ''}`);
    else log(error instanceof Error ? (error.stack ?? error.message) : String(error));
  };

  /** Continues a turn that an earlier program began, under its name. */
  resume(turnId: string, messages: readonly AcceptedMessage[]): void {
    const [only] = messages;
    if (only && commandIn(only.message, only.role).kind === 'command')
      this.#launch(turnId, messages, false, (turn) => runCommandTurn(this, turn, only));
    else this.#launch(turnId, messages, true, (turn) => resumeTurn(this, turn));
  }

  /** Listens again to background processes that an earlier program started, and reports those that ended with it. */
  async followProcesses(processes: readonly WatchedProcess[]): Promise<void> {
    this.#background.resume(processes);
    for (const { process, command } of processes.filter(({ survives }) => !survives)) {
      const outcome = 'ended together with the gateway, which was restarted';
      await this.#background.hear({ kind: 'ended', process, command, outcome, exitCode: undefined, output: '', isKnown: false }, false);
    }
    const alive = processes.filter(({ survives }) => survives);
    if (alive.length > 0) await this.tools.follow(alive);
  }

  /** The turn that runs, for a command that calls a tool in it. */
  get running(): (TurnActivity & { id: string; signal: AbortSignal }) | undefined {
    return this.#turn && { ...this.#turn, signal: this.#turn.controller.signal };
  }

  /** undefined when nothing runs and no sandbox is open. */
  get activity(): (ToolsStatus & { turn: TurnActivity | undefined }) | undefined {
    const status = this.#tools?.status() ?? { sandbox: undefined, running: [] };
    const turn = this.#turn;
    return turn || status.sandbox || status.running.length > 0 ? { ...status, turn } : undefined;
  }

  /** Ends the turn that runs. False when there is none. */
  async stopTurn(why: string): Promise<boolean> {
    const turn = this.#turn;
    await this.deps.approvals.withdraw(this.id.parts, why);
    if (!turn) return false;
    turn.controller.abort();
    await turn.over;
    return true;
  }

  async resetConversation(by: string): Promise<void> {
    const { store, approvals } = this.deps;
    const now = new Date();
    await approvals.endSession(this.id.parts, by);
    await store.conversations.session(this.id.parts, { title: this.title, place: this.place }, now);
    await store.conversations.reset(this.id.parts, now);
    this.tools.forgetTold();
  }

  /** Lets the turn that runs end by itself for a while, then interrupts it so that the next program resumes it. */
  async park(deadlineMs: number): Promise<void> {
    this.#stopping = true;
    this.#pace.stop();
    this.retries.stop();
    await this.#parkTurn(deadlineMs);
    await this.#background.stop();
  }

  async #parkTurn(deadlineMs: number): Promise<void> {
    const turn = this.#turn;
    if (!turn) return;
    const { approvals, store } = this.deps;
    const isAsking = async (): Promise<boolean> => (await approvals.open(this.id.parts)).length > 0;
    // Shutting down does not wait for a person.
    const isOver = !(await isAsking()) && (await settlesWithin(deadlineMs, turn.over));
    if (isOver) return;
    turn.isParked = true;
    await store.inbox.excuse(seqsOf(turn)).catch(this.logError);
    // A question stays open for the next program; ending the turn would withdraw it.
    if (await isAsking()) return;
    turn.controller.abort();
    await turn.over;
  }
}

function seqsOf({ messages, steered }: RunningTurn): number[] {
  return [...messages, ...steered].map(({ entry }) => entry.seq);
}
