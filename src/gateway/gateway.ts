import type { Channel, Incoming } from '../core/channel.ts';
import type { InboxEntry } from '../core/conversation.ts';
import type { SessionKey } from '../core/session.ts';
import { isStoreFault, maxEnds, maxTries } from '../core/set-aside.ts';
import { errorText } from '../lib/error-text.ts';
import { reportMessage } from './background-reports.ts';
import { commandIn } from './commands.ts';
import { commandCall } from './controls.ts';
import { Conversation } from './conversation.ts';
import type { ConversationParts } from './conversation-parts.ts';
import { fenced } from './fenced.ts';
import { LiveMessage } from './live-message.ts';
import { type Heard, roleIn, steeringTurn } from './running-turn.ts';
import { type SharingSettings, sessionKeyOf, sessionParts } from './session-key.ts';
import { removeStatusLines } from './status-line.ts';
import { answerKey, endKey } from './turn.ts';

export interface GatewayOptions extends ConversationParts {
  channels: ReadonlyMap<string, Channel>;
  sharing: SharingSettings;
}

/** How long a turn may go on after the program was asked to end. */
const drainMs = 10_000;
/** More conversations than this stay in memory only while something goes on in them. */
const mostAtRest = 100;
/** What two programs began and did not end may be what ended them. */
const suspectTries = 2;
/** How long one of those is alone. */
const aloneMs = 2000;
/** Of what somebody had typed, so much is shown to remind them of it. */
const mostShown = 300;

/** Takes what channels bring, decides whose it is and whether it is heard, and has it handled once, in order, whatever happens in between. */
export class Gateway {
  readonly #options: GatewayOptions;
  readonly #conversations = new Map<string, Conversation>();
  #isStopping = false;

  constructor(options: GatewayOptions) {
    this.#options = options;
  }

  /** Takes up what an earlier program left, then listens. A channel that cannot start is logged; the others do. */
  async start(): Promise<void> {
    await this.#takeUp();
    await this.#takeUpProcesses();
    await Promise.all(
      [...this.#options.channels.values()].map((channel) =>
        channel.start((incoming) => this.accept(incoming)).catch((error: unknown) => this.#log(`${channel.kind}: ${errorText(error)}`)),
      ),
    );
  }

  /** Channels go first, so nothing new comes; then turns have some time to end. What is not done is taken up by the next program. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all([...this.#options.channels.values()].map((channel) => channel.stop()));
    await Promise.all([...this.#conversations.values()].map((conversation) => conversation.park(drainMs)));
  }

  /** Durable when it resolves. */
  async accept(incoming: Incoming): Promise<void> {
    const { access, inbox, outbox, sharing } = this.#options;
    const admission = await access.admit(incoming);
    if (admission.kind === 'ignored') return;
    if (admission.kind === 'stranger') {
      if (admission.code !== undefined) await outbox.deliver(incoming.place, pairingKey(incoming), pairingText(admission.code));
      return;
    }
    const parts = sessionParts(sessionKeyOf(incoming, sharing));
    const seq = await inbox.accept(parts, incoming, new Date());
    if (seq !== undefined) this.#wake(this.#conversationOf(incoming));
  }

  /** Ends what runs in this session. False when nothing does. */
  async stopTurn(key: SessionKey): Promise<boolean> {
    return (await this.#conversations.get(JSON.stringify(sessionParts(key)))?.stopTurn('stopped')) ?? false;
  }

  /** Whether a turn runs in this session. */
  isBusy(key: SessionKey): boolean {
    return this.#conversations.get(JSON.stringify(sessionParts(key)))?.isBusy ?? false;
  }

  get busy(): number {
    return [...this.#conversations.values()].filter(({ isBusy }) => isBusy).length;
  }

  /** The sessions in which something runs or a sandbox is open. */
  get active(): { parts: readonly string[]; title: string; doing: NonNullable<Conversation['doing']> }[] {
    return [...this.#conversations.values()].flatMap(({ parts, title, doing }) => (doing ? [{ parts, title, doing }] : []));
  }

  /** How many conversations are in memory. */
  get held(): number {
    return this.#conversations.size;
  }

  #conversationOf(incoming: Incoming): Conversation | undefined {
    const { channels, sharing } = this.#options;
    const key = sessionKeyOf(incoming, sharing);
    const parts = sessionParts(key);
    const name = JSON.stringify(parts);
    const known = this.#conversations.get(name);
    if (known) return known;
    const channel = channels.get(key.platform);
    if (!channel) return undefined;
    const title = `${key.platform} ${incoming.from.name}`;
    this.#makeRoom();
    const conversation = new Conversation(key, parts, channel, title, this.#options);
    this.#conversations.set(name, conversation);
    return conversation;
  }

  /** Those that came first go first. Whoever comes back finds everything in the store. */
  #makeRoom(): void {
    const atRest = [...this.#conversations].filter(([, conversation]) => conversation.isAtRest);
    for (const [name] of atRest.slice(0, Math.max(0, atRest.length - mostAtRest + 1))) this.#conversations.delete(name);
  }

  #wake(conversation: Conversation | undefined): void {
    conversation?.wake().catch((error: unknown) => this.#log(errorText(error)));
  }

  /** Nobody waits for what is taken up: it goes on beside everything else. */
  async #takeUp(): Promise<void> {
    const { inbox } = this.#options;
    await this.#setAsideUnreadable().catch((error: unknown) => this.#log(errorText(error)));
    const turns = Map.groupBy(await inbox.list('running'), ({ turn }) => turn?.split('/')[0] ?? '');
    for (const [turn, entries] of turns) {
      const conversation = entries[0] && this.#conversationOf(entries[0].incoming);
      // One that cannot be read keeps no other from being heard.
      await (conversation && this.#takeUpTurn(conversation, turn, entries))
        ?.catch((error) => this.#failed(conversation, entries, error))
        .catch((error: unknown) => this.#log(errorText(error)));
    }
    const sessions = [...Map.groupBy(await inbox.list('waiting'), ({ session }) => JSON.stringify(session)).values()];
    const suspects = sessions.filter((entries) => triesOf(entries) >= suspectTries);
    for (const [first] of sessions.filter((entries) => !suspects.includes(entries)))
      if (first) this.#wake(this.#conversationOf(first.incoming));
    void this.#takeUpAlone(suspects).catch((error: unknown) => this.#log(errorText(error)));
    // Those that were answered elsewhere, that expired or that were withdrawn while no gateway ran.
    await this.#options.cards.settleAll().catch((error: unknown) => this.#log(errorText(error)));
  }

  /** One after the other, those that were begun least often first: of many that were under way when programs ended, one may have ended them. */
  async #takeUpAlone(sessions: readonly InboxEntry[][]): Promise<void> {
    for (const [first] of sessions.toSorted((one, other) => triesOf(one) - triesOf(other))) {
      if (this.#isStopping) return;
      const conversation = first && this.#conversationOf(first.incoming);
      this.#wake(conversation);
      await conversation?.settled(aloneMs);
    }
  }

  /** What this version cannot read at all is not tried; it keeps its place in the list of what was set aside. */
  async #setAsideUnreadable(): Promise<void> {
    const { inbox, setAside } = this.#options;
    for (const { seq, content, reason } of await inbox.unreadable())
      await setAside({ source: 'inbox', id: String(seq), session: [], reason: `It cannot be read: ${reason}`, content, tries: 1 });
  }

  /** A turn that could not be taken up, at this start or at earlier ones. */
  async #failed({ retries }: Conversation, entries: readonly InboxEntry[], error: unknown): Promise<void> {
    this.#log(errorText(error));
    if (isStoreFault(error)) return;
    for (const entry of entries) {
      if (entry.tries < maxTries) await this.#options.inbox.trying(entry.seq);
      else await retries.giveUp(entry, errorText(error));
    }
  }

  /**
   * Before the model is asked again about what it was asked about when an earlier program ended. False when that may be what ended it: then its
   * messages are back in line, to be tried one by one, or were tried too often.
   */
  async #mayAskAgain(
    { parts, retries }: Conversation,
    turn: string,
    entries: readonly InboxEntry[],
    isAnswered: boolean,
  ): Promise<boolean> {
    const { inbox, conversations } = this.#options;
    const tries = triesOf(entries);
    if (tries < (isAnswered ? maxEnds : suspectTries)) {
      for (const { seq } of entries) await inbox.trying(seq);
      return true;
    }
    // What is recorded of it is told to the model with every later message.
    await conversations.forgetTurn(parts, turn);
    if (isAnswered) for (const entry of entries) await retries.giveUp(entry, 'The gateway ended each time it went on with it.');
    else for (const name of new Set(entries.map(({ turn: own = '' }) => own))) await inbox.release(name);
    return false;
  }

  /** Resumes watching background processes of an earlier program. Those that cannot be looked at now stay in the ledger for the next one. */
  async #takeUpProcesses(): Promise<void> {
    const { background, backgroundNotify } = this.#options;
    const sessions = Map.groupBy(await background.list(), ({ session }) => JSON.stringify(session));
    for (const processes of sessions.values()) {
      if (backgroundNotify === 'off') {
        for (const { session, process } of processes) await background.remove(session, process);
        continue;
      }
      const [first] = processes;
      const conversation = first && this.#conversationOf(reportMessage(first, '', { role: 'user', notices: [], omitted: 0 }));
      conversation?.followProcesses(processes).catch((error: unknown) => this.#log(errorText(error)));
    }
  }

  async #takeUpTurn(conversation: Conversation, turn: string, running: readonly InboxEntry[]): Promise<void> {
    const { inbox, conversations, outbox, standingOf, surroundings } = this.#options;
    const { parts, place } = conversation;
    await removeStatusLines(outbox, place, turn);
    const messages = await conversations.readTurn(parts, turn);
    const standing = standingOf(messages);
    const entries = await this.#recorded(turn, running, standing.inputs);
    const seqs = entries.map(({ seq }) => seq);
    const isSaid = async (key: string): Promise<boolean> => (await outbox.find(`${key}/1`)) !== undefined;
    for (const [index, text] of standing.answers.entries()) {
      const key = answerKey(turn, index);
      if (!(await isSaid(key))) await new LiveMessage(outbox, place, key).finish(text);
    }
    const ends = [endKey(turn), ...commandsIn(entries).map(({ seq }) => `reply/${seq}`)];
    const isOver = (await Promise.all(ends.map(isSaid))).includes(true);
    if (standing.kind === 'answered' || isOver) return await inbox.done(seqs);
    const calls = standing.kind === 'calling' ? standing.calls : commandsIn(entries);
    if (messages.length === 0 && calls.length === 0) return await inbox.release(turn);
    const { questions } = surroundings;
    const states = await Promise.all(calls.map(({ callId }) => questions.notBegun(parts, `${turn}/${callId}`)));
    // Only what had not begun is taken up: whatever ran may have done its work.
    if (calls.length > 0 && !states.includes('waiting')) {
      // What was asked in the middle of it goes with it.
      await questions.withdraw(parts, 'the gateway ended while it ran');
      const begun = calls.filter((_, index) => states[index] === undefined);
      await outbox.deliver(place, endKey(turn), interruption(begun, entries), {
        replyTo: entries.findLast(({ incoming }) => incoming.kind === 'press' || !incoming.report)?.incoming.id,
      });
      return await inbox.done(seqs);
    }
    const isAnswered = standing.answers.length > 0;
    if (calls.length === 0 && !(await this.#mayAskAgain(conversation, turn, entries, isAnswered))) return;
    const heard = await this.#heard(entries);
    const [first] = heard;
    // Looked for again: while it was at rest it may have been let go.
    if (first) this.#conversationOf(first.message)?.resume(turn, heard);
    else {
      await questions.withdraw(parts, 'the person who asked may not talk any more');
      await inbox.done(seqs);
    }
  }

  /** Of what was running, that which the turn has heard. What came meanwhile and was not recorded is back in line. */
  async #recorded(turn: string, running: readonly InboxEntry[], inputs: number): Promise<InboxEntry[]> {
    const heardAs = new Set([turn, ...Array.from({ length: inputs }, (_, count) => steeringTurn(turn, count))]);
    for (const { turn: name = '' } of running) if (!heardAs.has(name)) await this.#options.inbox.release(name);
    return running.filter(({ turn: name = '' }) => heardAs.has(name));
  }

  async #heard(entries: readonly InboxEntry[]): Promise<Heard[]> {
    const heard: Heard[] = [];
    for (const entry of entries) {
      const { incoming } = entry;
      const now = await this.#options.access.roleOf(incoming.place.platform, incoming.from.id);
      if (incoming.kind !== 'message' || now === undefined) continue;
      // Security: of a turn that an older version began nobody knows what it was allowed to do.
      heard.push({ entry, message: incoming, role: entry.role === undefined ? 'user' : roleIn(entry, now) });
    }
    return heard;
  }

  #log(line: string): void {
    this.#options.surroundings.log(line);
  }
}

function triesOf(entries: readonly InboxEntry[]): number {
  return Math.max(...entries.map(({ tries }) => tries));
}

/** What somebody had asked to run without the agent. */
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
  const typed = commandsIn(entries).map(({ text }) => fenced(text.length > mostShown ? `${text.slice(0, mostShown)}…` : text));
  return [`I was interrupted while running ${names} and did not retry it. How should I continue?`, ...typed].join('\n');
}

/** Ids are of one place: elsewhere there may be the same. */
function pairingKey({ place, id }: Incoming): string {
  const { platform, workspace = null, chat, thread = null } = place;
  return `pairing/${JSON.stringify([platform, workspace, chat, thread, id])}`;
}

function pairingText(code: string): string {
  return `You are not paired with me yet. My operator can let you in with \`hermetic pairing approve ${code}\`. The code expires in 1 h.`;
}
