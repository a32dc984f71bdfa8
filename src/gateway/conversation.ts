import { randomUUID } from 'node:crypto';
import type { Agent, TurnInput } from '../core/agent.ts';
import type { CallOrigin } from '../core/approval.ts';
import type { Channel, IncomingMessage, IncomingPress, Place } from '../core/channel.ts';
import type { ConversationLedger, InboxEntry, InboxLedger, PairingLedger } from '../core/conversation.ts';
import { HermeticError } from '../core/errors.ts';
import type { SessionKey } from '../core/session.ts';
import type { Access, Role } from './access.ts';
import { commandIn } from './commands.ts';
import { Controls } from './controls.ts';
import { incomingFiles } from './incoming-files.ts';
import { Lanes } from './lanes.ts';
import { chatApprover, pressedAnswer } from './question-card.ts';
import { type ResetSettings, resetIsDue } from './reset.ts';
import { AgentTurn } from './turn.ts';
import type { Speech, Surroundings, Work } from './work.ts';

export type BusyMode = 'interrupt' | 'queue' | 'steer';

/** What all conversations share. */
export interface ConversationParts {
  inbox: InboxLedger;
  conversations: ConversationLedger;
  pairing: PairingLedger;
  access: Access;
  agent: Agent;
  agentName: string;
  speech: Speech;
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

interface RunningTurn {
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
      await this.shared.speech.say(this.place, `file/${randomUUID()}`, caption ?? file.name, { file });
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
    const { inbox, speech } = this.shared;
    const { entry, message, role } = heard;
    const found = commandIn(message.text, role);
    if (found.kind === 'text') {
      if (this.#turn) await this.#interject(entry);
      else together.push(heard);
    } else if (found.kind === 'unknown') {
      await speech.say(this.place, `reply/${entry.seq}`, found.say, { replyTo: message.id });
      await inbox.done([entry.seq]);
    } else if (!found.command.takesTurn) {
      await this.#obey(heard);
      await inbox.done([entry.seq]);
    } else {
      this.#beginTogether(together);
      if (!this.#turn) this.#begin([entry], (turn) => this.#runCommand(turn, heard));
    }
  }

  #beginTogether(together: Heard[]): void {
    const batch = together.splice(0);
    if (batch.length > 0 && !this.#turn)
      this.#begin(
        batch.map(({ entry }) => entry),
        (turn) => this.#answer(turn, batch),
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
      void this.wake().catch((error: unknown) => this.#complain(error));
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
    const { inbox, speech } = this.shared;
    const text =
      error instanceof HermeticError
        ? `${error.message}${error.hint ? ` ${error.hint}` : ''}`
        : 'Something went wrong here. The log says more.';
    if (!(error instanceof HermeticError)) this.#complain(error);
    try {
      await speech.say(this.place, `turn/${turn.id}/end`, text);
      await inbox.done(seqs);
    } catch (failure) {
      // The store is gone: what was not answered is still in it as running, for the next start.
      this.#complain(failure);
    }
  }

  #complain(error: unknown): void {
    this.shared.surroundings.log(error instanceof Error ? (error.stack ?? error.message) : String(error));
  }

  async #answer(turn: RunningTurn, heard: readonly Heard[]): Promise<void> {
    const { conversations, surroundings, speech, reset } = this.shared;
    const now = new Date();
    const session = await conversations.session(this.parts, { title: this.title, place: this.place }, now);
    if (resetIsDue(session, reset, now)) await this.resetConversation('hermetic');
    await conversations.active(this.parts, now);
    if (await surroundings.questions.isYolo(this.parts)) {
      await speech.say(this.place, `yolo/${turn.id}`, 'Nobody is asked in this session. /yolo off ends that.');
    }
    const input = await Promise.all(heard.map(({ message }) => this.#inputOf(message)));
    await this.#turnFor(turn, heard).run(input);
  }

  /** Goes on with a turn that an earlier program began, in the same words. */
  resume(turnId: string, heard: readonly Heard[]): void {
    const entries = heard.map(({ entry }) => entry);
    this.#begin(entries, async (turn) => void (await this.#turnFor(turn, heard).run([])), turnId);
  }

  #turnFor(turn: RunningTurn, heard: readonly Heard[]): AgentTurn {
    const { agent, agentName, conversations, speech, surroundings, mostSteps } = this.shared;
    return new AgentTurn({
      id: turn.id,
      parts: this.parts,
      place: this.place,
      channel: this.channel,
      isDirect: heard.every(({ message }) => message.isDirect),
      title: this.title,
      agent,
      agentName,
      conversations,
      speech,
      surroundings,
      work: this.work,
      origin: this.#originOf(heard),
      mostSteps,
      signal: turn.controller.signal,
      steer: async () => {
        const came = turn.steering.splice(0);
        const inputs = await Promise.all(came.map(({ incoming }) => this.#inputOf(incoming as IncomingMessage)));
        await this.shared.inbox.done(came.map(({ seq }) => seq));
        return inputs;
      },
    });
  }

  /** Security: of several who spoke, nobody gets more rights than the one with the fewest. */
  #originOf(heard: readonly Heard[]): CallOrigin {
    const { speech, surroundings } = this.shared;
    const approver = chatApprover(this.place, this.channel, speech, surroundings.questions);
    const last = heard.at(-1);
    const role = heard.every((one) => one.role === 'admin') ? 'admin' : 'user';
    return { source: 'chat', role, approver, person: `${this.place.platform}:${last?.message.from.id}` };
  }

  async #inputOf({ text, from, quoted, files }: IncomingMessage): Promise<TurnInput> {
    return { text, from: from.name, quoted, ...(await incomingFiles(files, this.channel, this.work)) };
  }

  async #obey(heard: Heard): Promise<void> {
    const { entry, message, role } = heard;
    const found = commandIn(message.text, role);
    if (found.kind !== 'command') return;
    const controls = new Controls(this, heard, this.#originOf([heard]));
    const said = await found.command
      .run({ controls, from: message.from, place: this.place, role, rest: found.rest })
      .catch((error: unknown) => {
        if (!(error instanceof HermeticError)) this.#complain(error);
        return error instanceof HermeticError ? `${error.message} ${error.hint ?? ''}`.trim() : 'That did not work. The log says more.';
      });
    if (said !== undefined) await this.shared.speech.say(this.place, `reply/${entry.seq}`, said, { replyTo: message.id });
  }

  async #runCommand(turn: RunningTurn, heard: Heard): Promise<void> {
    this.channel.activity?.(this.place, { kind: 'turn-started', turn: turn.id });
    try {
      await this.#obey(heard);
    } finally {
      this.channel.activity?.(this.place, { kind: 'turn-ended', turn: turn.id });
    }
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
    const timer = setTimeout(() => turn.controller.abort(), patienceMs);
    await turn.over;
    clearTimeout(timer);
  }
}
