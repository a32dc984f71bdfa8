import { randomUUID } from 'node:crypto';
import type { Agent } from '../core/agent.ts';
import type { Channel, IncomingMessage, IncomingPress, Place } from '../core/channel.ts';
import type { ConversationLedger, InboxEntry, InboxLedger, PairingLedger } from '../core/conversation.ts';
import { HermeticError } from '../core/errors.ts';
import type { SessionKey } from '../core/session.ts';
import type { Access, Role } from './access.ts';
import { commandIn } from './commands.ts';
import { Lanes } from './lanes.ts';
import type { Outbox } from './outbox.ts';
import { pressedAnswer } from './question-card.ts';
import { Replies } from './replies.ts';
import type { ResetSettings } from './reset.ts';
import type { StandingOf, Surroundings, Work } from './work.ts';

export type BusyMode = 'interrupt' | 'queue' | 'steer';

/** What all conversations share. */
export interface ConversationParts {
  inbox: InboxLedger;
  conversations: ConversationLedger;
  pairing: PairingLedger;
  access: Access;
  agent: Agent;
  agentName: string;
  outbox: Outbox;
  /** Where a turn stands, from what was recorded of it. */
  standingOf: StandingOf;
  surroundings: Surroundings;
  busyMode: BusyMode;
  reset: ResetSettings;
  mostSteps: number;
}

/** Something that was said, and what whoever said it may do. */
export interface Heard {
  entry: InboxEntry;
  message: IncomingMessage;
  role: Role;
}

export interface RunningTurn {
  id: string;
  controller: AbortController;
  /** Messages that came meanwhile and are meant for it. */
  steering: InboxEntry[];
  over: Promise<void>;
}

/** One session: everything that is said in it, one turn at a time. */
export class Conversation {
  readonly key: SessionKey;
  readonly parts: readonly string[];
  readonly place: Place;
  readonly channel: Channel;
  readonly shared: ConversationParts;
  readonly #lane = new Lanes();
  readonly #replies = new Replies(this);
  #turn: RunningTurn | undefined;
  #work: Work | undefined;
  #stopping = false;
  title: string;

  constructor(key: SessionKey, parts: readonly string[], channel: Channel, title: string, shared: ConversationParts) {
    const { user: _, ...place } = key;
    this.key = key;
    this.parts = parts;
    this.place = place;
    this.channel = channel;
    this.title = title;
    this.shared = shared;
  }

  get isBusy(): boolean {
    return this.#turn !== undefined;
  }

  get work(): Work {
    this.#work ??= this.shared.surroundings.work(this.key, { parts: this.parts, title: this.title }, async (file, caption) => {
      await this.shared.outbox.deliver(this.place, `file/${randomUUID()}`, caption ?? file.name, { file });
    });
    return this.#work;
  }

  /** Looks at what waits. Called whenever something has arrived or a turn has ended. */
  async wake(): Promise<void> {
    if (!this.#stopping) await this.#lane.run('dispatch', () => this.#dispatch());
  }

  async #dispatch(): Promise<void> {
    const { inbox, access } = this.shared;
    /** What is said before a turn begins is answered together. */
    const together: Heard[] = [];
    for (const entry of await inbox.list('waiting', this.parts)) {
      // What was sent before somebody lost the right to talk is not answered after it.
      const role = await access.roleOf(this.place.platform, entry.incoming.from.id);
      if (role === undefined) await inbox.done([entry.seq]);
      else if (entry.incoming.kind === 'press') await this.#press(entry, entry.incoming, role);
      else await this.#sort({ entry, message: entry.incoming, role }, together);
    }
    this.#beginTogether(together);
  }

  async #sort(heard: Heard, together: Heard[]): Promise<void> {
    const { inbox, outbox } = this.shared;
    const { entry, message, role } = heard;
    const found = commandIn(message.text, role);
    if (found.kind === 'text') {
      if (this.#turn) await this.#interject(entry);
      else together.push(heard);
    } else if (found.kind === 'unknown') {
      await outbox.deliver(this.place, `reply/${entry.seq}`, found.say, { replyTo: message.id });
      await inbox.done([entry.seq]);
    } else if (!found.command.takesTurn) {
      await this.#replies.obey(heard);
      await inbox.done([entry.seq]);
    } else {
      this.#beginTogether(together);
      if (!this.#turn) this.#begin([entry], (turn) => this.#replies.runCommand(turn, heard));
    }
  }

  #beginTogether(together: Heard[]): void {
    const batch = together.splice(0);
    if (batch.length > 0 && !this.#turn)
      this.#begin(
        batch.map(({ entry }) => entry),
        (turn) => this.#replies.answer(turn, batch),
      );
  }

  async #press({ seq }: InboxEntry, press: IncomingPress, role: Role): Promise<void> {
    const { surroundings, inbox } = this.shared;
    const person = `${this.place.platform}:${press.from.id}`;
    const given = pressedAnswer(press.data, person);
    const answerer = { person, isAdmin: role === 'admin', from: this.place.platform };
    const said = given ? await surroundings.questions.answer(given.code, given.answer, answerer) : 'This button is of no use any more.';
    await this.channel.noticed?.(press, said);
    await inbox.done([seq]);
  }

  /** Somebody says something while a turn runs. */
  async #interject(entry: InboxEntry): Promise<void> {
    const { busyMode } = this.shared;
    if (busyMode === 'interrupt') this.#turn?.controller.abort();
    if (busyMode === 'steer') await this.steer(entry);
  }

  /** Hands a waiting message to the turn that runs. False when there is none. */
  async steer(entry: InboxEntry): Promise<boolean> {
    const turn = this.#turn;
    if (!turn || (await this.shared.inbox.begin([entry.seq], turn.id)).length === 0) return false;
    turn.steering.push(entry);
    return true;
  }

  /** Not awaited: a turn may take as long as it wants, and holds up nobody but the next one. */
  #begin(entries: readonly InboxEntry[], run: (turn: RunningTurn) => Promise<void>, id: string = randomUUID()): void {
    const over = Promise.withResolvers<void>();
    const turn: RunningTurn = { id, controller: new AbortController(), steering: [], over: over.promise };
    this.#turn = turn;
    void this.#carryOut(turn, entries, run).finally(() => {
      this.#turn = undefined;
      over.resolve();
      void this.wake().catch((error: unknown) => this.complain(error));
    });
  }

  async #carryOut(turn: RunningTurn, entries: readonly InboxEntry[], run: (turn: RunningTurn) => Promise<void>): Promise<void> {
    const { inbox } = this.shared;
    const seqs = entries.map(({ seq }) => seq);
    try {
      const fresh = seqs.filter((_, index) => entries[index]?.state === 'waiting');
      if (fresh.length > 0 && (await inbox.begin(fresh, turn.id)).length === 0) return;
      await run(turn);
      // A turn that was cut off by the end of the program is taken up by the next one.
      if (this.#stopping && turn.controller.signal.aborted) return;
      await inbox.done(seqs);
      await inbox.release(turn.id);
    } catch (error) {
      await this.#apologise(turn, seqs, error);
    }
  }

  /** What failed is said, and not tried again for ever. */
  async #apologise(turn: RunningTurn, seqs: readonly number[], error: unknown): Promise<void> {
    const { inbox, outbox } = this.shared;
    const text =
      error instanceof HermeticError
        ? `${error.message}${error.hint ? ` ${error.hint}` : ''}`
        : 'Something went wrong here. The log says more.';
    if (!(error instanceof HermeticError)) this.complain(error);
    try {
      await outbox.deliver(this.place, `turn/${turn.id}/end`, text);
      await inbox.done(seqs);
    } catch (failure) {
      // The store is gone: what was not answered is still in it as running, for the next start.
      this.complain(failure);
    }
  }

  complain(error: unknown): void {
    this.shared.surroundings.log(error instanceof Error ? (error.stack ?? error.message) : String(error));
  }

  /** Goes on with a turn that an earlier program began, under its name. */
  resume(turnId: string, heard: readonly Heard[]): void {
    const entries = heard.map(({ entry }) => entry);
    const [only] = heard;
    const isCommand = only !== undefined && commandIn(only.message.text, only.role).kind === 'command';
    this.#begin(entries, (turn) => (isCommand ? this.#replies.runCommand(turn, only) : this.#replies.goOn(turn, heard)), turnId);
  }

  /** The turn that runs, for whoever runs a tool in it. */
  get running(): { id: string; signal: AbortSignal } | undefined {
    return this.#turn && { id: this.#turn.id, signal: this.#turn.controller.signal };
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
    await surroundings.questions.endSession(this.parts, by);
    await conversations.reset(this.parts, new Date());
  }

  /** Lets the turn that runs end by itself for a while, and then takes it out of the way for the next program. */
  async park(patienceMs: number): Promise<void> {
    this.#stopping = true;
    const turn = this.#turn;
    if (!turn) return;
    const patience = Promise.withResolvers<'impatient'>();
    const timer = setTimeout(() => patience.resolve('impatient'), patienceMs);
    const outcome = await Promise.race([turn.over, patience.promise]);
    clearTimeout(timer);
    // A question stays open for whoever asks it next; ending the turn would take it back.
    if (outcome !== 'impatient' || (await this.shared.surroundings.questions.open(this.parts)).length > 0) return;
    turn.controller.abort();
    await turn.over;
  }
}
