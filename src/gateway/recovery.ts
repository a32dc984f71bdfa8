import { turnProgress } from '../agent/turn-progress.ts';
import type { Incoming } from '../core/channel.ts';
import type { InboxEntry } from '../core/conversation.ts';
import { isStoreFault, maxEnds, maxTries } from '../core/set-aside.ts';
import { errorText } from '../lib/error-text.ts';
import { fenced } from '../lib/fenced.ts';
import { commandCall } from './commands/controls.ts';
import { commandIn } from './commands/index.ts';
import type { GatewayDeps } from './deps.ts';
import { LiveMessage } from './outbox/live-message.ts';
import type { ChatSession } from './session.ts';
import { reportMessage } from './sessions/background-reports.ts';
import { type AcceptedMessage, answerKey, endKey, roleIn, steeringTurn } from './turns/running-turn.ts';
import { removeStatusLines } from './turns/status-line.ts';

/** A message that two programs began and did not finish may be what ended them. */
const suspectTries = 2;
/** How long a suspect is handled alone. */
const aloneMs = 2000;
/** Of a command that was interrupted, so much is quoted. */
const maxQuoted = 300;

/** Resumes the messages, turns and background processes that an earlier program left. */
export class Recovery {
  readonly #deps: GatewayDeps;
  readonly #sessionOf: (incoming: Incoming) => ChatSession | undefined;
  #isStopped = false;

  constructor(deps: GatewayDeps, sessionOf: (incoming: Incoming) => ChatSession | undefined) {
    this.#deps = deps;
    this.#sessionOf = sessionOf;
  }

  /** Resolves when everything was looked at. Turns that it resumes go on beside everything else. */
  async run(): Promise<void> {
    await this.#setAsideUnreadable().catch(this.#logError);
    await this.#resumeTurns();
    await this.#wakeSessions();
    // Questions that were answered elsewhere, expired or were withdrawn while no gateway ran.
    await this.#deps.approvals.settleAll().catch(this.#logError);
    await this.#followProcesses();
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Messages that this version cannot read are not tried. */
  async #setAsideUnreadable(): Promise<void> {
    const { store, setAside } = this.#deps;
    for (const { seq, content, reason } of await store.inbox.unreadable())
      await setAside({ source: 'inbox', id: String(seq), session: [], reason: `It cannot be read: ${reason}`, content, tries: 1 });
  }

  async #resumeTurns(): Promise<void> {
    const turns = Map.groupBy(await this.#deps.store.inbox.list('running'), ({ turn }) => turn?.split('/')[0] ?? '');
    for (const [turn, entries] of turns) {
      const session = entries[0] && this.#sessionOf(entries[0].incoming);
      // A turn that cannot be read does not hold up the others.
      await (session && this.#resumeTurn(session, turn, entries))
        ?.catch((error) => this.#failed(session, entries, error))
        .catch(this.#logError);
    }
  }

  async #wakeSessions(): Promise<void> {
    const waiting = await this.#deps.store.inbox.list('waiting');
    const sessions = [...Map.groupBy(waiting, ({ session }) => JSON.stringify(session)).values()];
    const suspects = sessions.filter((entries) => triesOf(entries) >= suspectTries);
    for (const [first] of sessions.filter((entries) => !suspects.includes(entries))) if (first) this.#wake(first.incoming);
    void this.#wakeAlone(suspects).catch(this.#logError);
  }

  /** One after the other, those with the fewest tries first: of many that were under way when programs ended, one may have ended them. */
  async #wakeAlone(sessions: readonly InboxEntry[][]): Promise<void> {
    for (const [first] of sessions.toSorted((one, other) => triesOf(one) - triesOf(other))) {
      if (this.#isStopped) return;
      await (first && this.#wake(first.incoming)?.settled(aloneMs));
    }
  }

  #wake(incoming: Incoming): ChatSession | undefined {
    const session = this.#sessionOf(incoming);
    session?.wake().catch(this.#logError);
    return session;
  }

  /** A turn that could not be resumed, at this start or at earlier ones. */
  async #failed({ retries }: ChatSession, entries: readonly InboxEntry[], error: unknown): Promise<void> {
    this.#logError(error);
    if (isStoreFault(error)) return;
    for (const entry of entries) {
      if (entry.tries < maxTries) await this.#deps.store.inbox.trying(entry.seq);
      else await retries.giveUp(entry, errorText(error));
    }
  }

  /** Background processes that cannot be looked at now stay in the ledger for the next program. */
  async #followProcesses(): Promise<void> {
    const { store, settings } = this.#deps;
    const sessions = Map.groupBy(await store.background.list(), ({ session }) => JSON.stringify(session));
    for (const processes of sessions.values()) {
      if (settings.backgroundNotify === 'off') {
        for (const { session, process } of processes) await store.background.remove(session, process);
        continue;
      }
      const [first] = processes;
      const session = first && this.#sessionOf(reportMessage(first, '', { role: 'user', notices: [], omitted: 0 }));
      session?.followProcesses(processes).catch(this.#logError);
    }
  }

  async #resumeTurn(session: ChatSession, turn: string, running: readonly InboxEntry[]): Promise<void> {
    const { store, outbox, approvals } = this.#deps;
    const { id, place } = session;
    await removeStatusLines(outbox, place, turn);
    const transcript = await store.conversations.readTurn(id.parts, turn);
    const progress = turnProgress(transcript);
    const entries = await this.#recorded(turn, running, progress.inputs);
    const seqs = entries.map(({ seq }) => seq);
    const isInOutbox = async (key: string): Promise<boolean> => (await outbox.find(`${key}/1`)) !== undefined;
    for (const [index, text] of progress.answers.entries()) {
      const key = answerKey(turn, index);
      if (!(await isInOutbox(key))) await new LiveMessage(outbox, place, key).finish(text, { session: session.id.parts });
    }
    const ends = [endKey(turn), ...commandsIn(entries).map(({ seq }) => `reply/${seq}`)];
    const isOver = (await Promise.all(ends.map(isInOutbox))).includes(true);
    if (progress.kind === 'answered' || isOver) return await store.inbox.done(seqs);
    const calls = progress.kind === 'calling' ? progress.calls : commandsIn(entries);
    if (transcript.length === 0 && calls.length === 0) return await store.inbox.release(turn);
    const states = await Promise.all(calls.map(({ callId }) => approvals.notBegun(id.parts, `${turn}/${callId}`)));
    // Only calls that had not begun are resumed: one that ran may have done its work.
    if (calls.length > 0 && !states.includes('waiting')) {
      await approvals.withdraw(id.parts, 'the gateway ended while it ran');
      const begun = calls.filter((_, index) => states[index] === undefined);
      await outbox.deliver(place, endKey(turn), interruption(begun, entries), {
        replyTo: entries.findLast(({ incoming }) => incoming.kind === 'press' || !incoming.report)?.incoming.id,
      });
      return await store.inbox.done(seqs);
    }
    if (calls.length === 0 && !(await this.#mayAskAgain(session, turn, entries, progress.answers.length > 0))) return;
    const messages = await this.#accepted(entries);
    const [first] = messages;
    // Looked up again: a session at rest may have been forgotten meanwhile.
    if (first) this.#sessionOf(first.message)?.resume(turn, messages);
    else {
      await approvals.withdraw(id.parts, 'the person who asked may not talk any more');
      await store.inbox.done(seqs);
    }
  }

  /**
   * Before the model is asked again about the same messages. False when they may be what ended the program: then they are queued again, to be
   * tried one by one, or were tried too often.
   */
  async #mayAskAgain({ id, retries }: ChatSession, turn: string, entries: readonly InboxEntry[], isAnswered: boolean): Promise<boolean> {
    const { inbox, conversations } = this.#deps.store;
    if (triesOf(entries) < (isAnswered ? maxEnds : suspectTries)) {
      for (const { seq } of entries) await inbox.trying(seq);
      return true;
    }
    // The model reads what is recorded of it with every later message.
    await conversations.forgetTurn(id.parts, turn);
    if (isAnswered) for (const entry of entries) await retries.giveUp(entry, 'The gateway ended each time it went on with it.');
    else for (const name of new Set(entries.map(({ turn: own = '' }) => own))) await inbox.release(name);
    return false;
  }

  /** The messages that are in the transcript of the turn. Those that came meanwhile and were not recorded are queued again. */
  async #recorded(turn: string, running: readonly InboxEntry[], inputs: number): Promise<InboxEntry[]> {
    const names = new Set([turn, ...Array.from({ length: inputs }, (_, count) => steeringTurn(turn, count))]);
    for (const { turn: name = '' } of running) if (!names.has(name)) await this.#deps.store.inbox.release(name);
    return running.filter(({ turn: name = '' }) => names.has(name));
  }

  async #accepted(entries: readonly InboxEntry[]): Promise<AcceptedMessage[]> {
    const messages: AcceptedMessage[] = [];
    for (const entry of entries) {
      const { incoming } = entry;
      const now = await this.#deps.access.roleOf(incoming.place.platform, incoming.from);
      if (incoming.kind !== 'message' || now === undefined) continue;
      // Security: an older version did not record the role of a turn, so it has the fewest rights.
      messages.push({ entry, message: incoming, role: entry.role === undefined ? 'user' : roleIn(entry, now) });
    }
    return messages;
  }

  readonly #logError = (error: unknown): void => this.#deps.log(errorText(error));
}

function triesOf(entries: readonly InboxEntry[]): number {
  return Math.max(...entries.map(({ tries }) => tries));
}

/** Commands that people typed, which run without the agent. */
function commandsIn(entries: readonly InboxEntry[]): { seq: number; callId: string; name: string; text: string }[] {
  return entries.flatMap(({ seq, incoming }) => {
    if (incoming.kind !== 'message') return [];
    const { text } = incoming;
    const found = commandIn(incoming, 'admin');
    return found.kind === 'command' ? [{ seq, callId: commandCall, name: `/${found.command.name}`, text }] : [];
  });
}

/** `calls`: those that may have begun. */
function interruption(calls: readonly { name: string }[], entries: readonly InboxEntry[]): string {
  if (calls.length === 0) return 'The question was withdrawn, so it was not run. How should I continue?';
  const names = [...new Set(calls.map(({ name }) => name))].join(', ');
  const typed = commandsIn(entries).map(({ text }) => fenced(text.length > maxQuoted ? `${text.slice(0, maxQuoted)}…` : text));
  return [`I was interrupted while running ${names} and did not retry it. How should I continue?`, ...typed].join('\n');
}
