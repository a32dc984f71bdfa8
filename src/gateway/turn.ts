import { setTimeout as delay } from 'node:timers/promises';
import type { Agent, AgentEvent, TurnInput, TurnResult } from '../core/agent.ts';
import type { CallOrigin } from '../core/approval.ts';
import type { Activity, Channel, Place } from '../core/channel.ts';
import type { ConversationLedger } from '../core/conversation.ts';
import { errorText } from '../lib/error-text.ts';
import { LiveMessage } from './live-message.ts';
import type { Outbox } from './outbox.ts';
import { RetryNotice } from './retry-notice.ts';
import { StatusLine } from './status-line.ts';
import type { StandingOf, Surroundings, Work } from './work.ts';

export interface TurnOptions {
  id: string;
  parts: readonly string[];
  place: Place;
  channel: Channel;
  isDirect: boolean;
  title: string;
  agent: Agent;
  agentName: string;
  conversations: ConversationLedger;
  outbox: Outbox;
  standingOf: StandingOf;
  surroundings: Surroundings;
  work: Work;
  /** As it is now: others may have spoken meanwhile. */
  origin(): CallOrigin;
  mostSteps: number;
  /** People are told that a model is asked again when it has not answered for so long. */
  retryNoticeMs: number;
  signal: AbortSignal;
  /** Whether the program is ending, and the next one goes on with this turn. */
  isParked(): boolean;
  /** What came meanwhile and is meant for this turn, which has so many inputs. */
  steer(inputs: number): Promise<readonly TurnInput[]>;
}

const typingEveryMs = 4_000;
/** How long what a tool does waits for the words before it. */
const lookEveryMs = 20;
const mostLooks = 50;

/** Under which an answer of the model in a turn is said, whichever program says it. The first is 0. */
export function answerKey(turn: string, answer: number): string {
  return `turn/${turn}/${answer}`;
}

/** Under which a turn says why it ends without an answer. */
export function endKey(turn: string): string {
  return `turn/${turn}/end`;
}

/** One run of the agent for what somebody said, with everything people see of it. */
export class AgentTurn {
  readonly #options: TurnOptions;
  readonly #retrying: RetryNotice;
  #live: LiveMessage | undefined;
  /** Answers of the model so far; each is a message of its own. */
  #answers = 0;
  /** What people have said in it so far, as often as it was recorded. */
  #inputs = 0;
  #delivering: Promise<void> = Promise.resolve();
  /** Never rejects. */
  #showing: Promise<void> = Promise.resolve();

  constructor(options: TurnOptions) {
    this.#options = options;
    this.#retrying = new RetryNotice(options.retryNoticeMs, (reason) => this.#tellOfRetry(reason));
  }

  /**
   * Resolves when everything there is to say has been stored. `input` is empty to go on with what the transcript has already. Rejects when what
   * happens cannot be remembered.
   */
  async run(input: readonly TurnInput[]): Promise<TurnResult> {
    const { id } = this.#options;
    const stopTyping = this.#keepTyping();
    const { place, channel, outbox, work, surroundings } = this.#options;
    const complain = (error: unknown): void => surroundings.log(String(error));
    const line = new StatusLine({ turn: id, place, channel, outbox, running: () => work.status().running, complain });
    this.#show({ kind: 'turn-started', turn: id });
    try {
      const result = await this.#think(input);
      await this.#delivering;
      await this.#conclude(result);
      return result;
    } finally {
      this.#retrying.stop();
      await line.end().catch(complain);
      stopTyping();
      this.#show({ kind: 'turn-ended', turn: id });
      await this.#showing;
    }
  }

  async #think(input: readonly TurnInput[]): Promise<TurnResult> {
    const { id, parts, agent, conversations, surroundings, standingOf, work, mostSteps, signal } = this.#options;
    const session = await conversations.find(parts);
    const model = await surroundings.model(typeof session?.choices.model === 'string' ? session.choices.model : undefined);
    const history = await conversations.readMessages(parts);
    // Also what was summed up: the number of an answer is part of its key, and must not be given twice.
    const standing = standingOf(await conversations.readTurn(parts, id));
    this.#answers = standing.answers.length;
    this.#inputs = standing.inputs + (input.length > 0 ? 1 : 0);
    return await agent.run({
      model,
      history,
      input,
      facts: await this.#facts(),
      tools: work.tools,
      call: async (name, given, { callId, signal: until, progress }) => {
        // Nothing happens before people can read what was said about it.
        await this.#showing;
        return await work.call(name, given, { run: `${id}/${callId}`, origin: this.#options.origin(), signal: until, progress });
      },
      // A question is asked before anything happens, so what still has one has not begun.
      takeUp: async (name, given, { callId, signal: until, progress }) => {
        const run = `${id}/${callId}`;
        if ((await surroundings.questions.notBegun(parts, run)) !== 'waiting') return undefined;
        return await work.call(name, given, { run, origin: this.#options.origin(), signal: until, progress });
      },
      record: async (messages, usage) => {
        // Half an answer is none: the next program asks for all of it.
        const { answers, kind } = standingOf(messages);
        if (this.#options.isParked() && answers.length > 0) return;
        // Calls of tools must be on disk before they run. Everything else is on disk before people are told of it.
        await conversations.append(parts, id, messages, new Date(), kind === 'calling' ? 'now' : 'later');
        if (usage) await conversations.addUsage(parts, usage);
      },
      summarise: async (count, summary, usage) => {
        // As it is now: an earlier summary of this turn has changed what is counted.
        const upTo = (await conversations.read(parts))[count - 1]?.seq;
        const isStored = upTo !== undefined && (await conversations.summarise(parts, upTo, summary, new Date()));
        if (!isStored) throw new Error('the transcript is not what was summed up');
        await conversations.addUsage(parts, usage);
      },
      steer: async () => {
        const more = await this.#options.steer(this.#inputs);
        if (more.length > 0) this.#inputs += 1;
        return more;
      },
      listener: (event) => this.#hear(event),
      signal,
      mostSteps,
    });
  }

  async #facts() {
    const { agentName, work, place, isDirect, title, channel } = this.#options;
    return {
      name: agentName,
      sandbox: await work.facts(),
      chat: { platform: place.platform, isDirect, title, markdown: true, files: channel.traits.maxFileBytes > 0 },
      now: new Date(),
    };
  }

  #hear(event: AgentEvent): void {
    const { id: turn } = this.#options;
    if (event.type === 'waiting') this.#retrying.failed(event.reason);
    else if (event.type !== 'text-discarded') this.#retrying.answered();
    switch (event.type) {
      case 'text':
        this.#live ??= this.#liveMessage();
        this.#live.push(event.text);
        break;
      case 'text-discarded':
        this.#live?.restart();
        break;
      case 'step-finished':
        this.#say(event.text);
        break;
      case 'tool-started':
        this.#show({ kind: 'tool-started', turn, call: event.callId, tool: event.name, input: event.input });
        break;
      case 'tool-progress':
        this.#show({ kind: 'tool-output', turn, call: event.callId, text: event.text });
        break;
      case 'tool-ended':
        this.#show({ kind: 'tool-ended', turn, call: event.callId, ok: event.result.ok, text: event.result.text });
        break;
    }
  }

  #tellOfRetry(reason: string): void {
    const { id, place, outbox, surroundings } = this.#options;
    const told = outbox.deliver(place, `turn/${id}/retry`, `The model has not answered yet, so I am retrying. ${reason}`);
    told.catch((error: unknown) => surroundings.log(errorText(error)));
  }

  #liveMessage(): LiveMessage {
    const { id, place, outbox } = this.#options;
    return new LiveMessage(outbox, place, answerKey(id, this.#answers));
  }

  /** What the model has said before it goes on, or at the end. */
  #say(text: string): void {
    const key = answerKey(this.#options.id, this.#answers);
    const live = this.#live ?? this.#liveMessage();
    this.#live = undefined;
    this.#answers += 1;
    this.#delivering = this.#delivering.then(() => live.finish(text));
    // Told to whoever awaits it at the end of the turn.
    this.#delivering.catch(() => undefined);
    this.#showing = this.#showing.then(() => this.#isShown(key));
  }

  /** Everything in the order in which it happens, also where it takes different ways. */
  #show(activity: Activity): void {
    const { channel, place } = this.#options;
    this.#showing = this.#showing.then(() => channel.activity?.(place, activity));
  }

  /** Resolves when people can read it, or it takes too long. */
  async #isShown(key: string): Promise<void> {
    const { channel, outbox } = this.#options;
    if (!channel.activity) return;
    try {
      await this.#delivering;
      for (let look = 0; look < mostLooks; look++) {
        const entry = await outbox.find(`${key}/1`);
        if (!entry || entry.state === 'sent' || entry.state === 'dropped') return;
        await delay(lookEveryMs);
      }
    } catch {
      // Whoever awaits the delivery is told; what happens is shown all the same.
    }
  }

  async #conclude(result: TurnResult): Promise<void> {
    const { id, place, outbox, isParked } = this.#options;
    const say = (text: string): Promise<void> => outbox.deliver(place, endKey(id), text);
    await this.#live?.finish('');
    if (isParked()) return;
    if (result.kind === 'limit') await say(`I took ${result.steps} steps and stopped. Send a message to continue.`);
    if (result.kind === 'failed') await say(`I could not answer. ${result.reason}${result.hint ? ` ${result.hint}` : ''}`);
  }

  #keepTyping(): () => void {
    const { channel, place } = this.#options;
    const type = (): void => void channel.typing?.(place);
    type();
    const timer = setInterval(type, typingEveryMs);
    return () => clearInterval(timer);
  }
}
