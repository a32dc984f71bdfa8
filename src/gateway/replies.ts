import { hash } from 'node:crypto';
import type { TurnInput } from '../core/agent.ts';
import type { CallOrigin } from '../core/approval.ts';
import type { IncomingMessage } from '../core/channel.ts';
import { HermeticError } from '../core/errors.ts';
import { commandIn } from './commands.ts';
import { Controls } from './controls.ts';
import type { Conversation } from './conversation.ts';
import { incomingFiles, leftOut, whereFilesAre } from './incoming-files.ts';
import { resetIsDue } from './reset.ts';
import { type Heard, lastSaid, leastRole, type RunningTurn, steeringTurn } from './running-turn.ts';
import { StatusLine } from './status-line.ts';
import { AgentTurn } from './turn.ts';

const defaultRetryNoticeMs = 5000;

/** What is done about what was said in a conversation. */
export class Replies {
  readonly #conversation: Conversation;

  constructor(conversation: Conversation) {
    this.#conversation = conversation;
  }

  /** By the agent. */
  async answer(turn: RunningTurn, heard: readonly Heard[]): Promise<void> {
    const { parts, title, place, shared } = this.#conversation;
    const { conversations, surroundings, outbox, reset } = shared;
    const now = new Date();
    const session = await conversations.session(parts, { title, place }, now);
    if (resetIsDue(session, reset, now)) await this.#conversation.resetConversation('hermetic');
    await conversations.active(parts, now);
    const { person, others = [], role } = this.#originOf(heard);
    const yolo = role === 'admin' && others.length === 0 ? await surroundings.questions.yolo(parts) : [];
    if (yolo.some(({ by }) => by === person)) {
      await outbox.deliver(place, `yolo/${turn.id}`, 'Approvals are off for you in this session. Turn them on with /yolo off.');
    }
    const input = await Promise.all(heard.map(({ message }) => this.#inputOf(message)));
    try {
      await this.#turnFor(turn, heard).run(input);
    } catch (error) {
      // No model has heard of them: whoever sent them is told instead.
      const text = whereFilesAre(input.flatMap(({ files = [] }) => files));
      if (text !== '' && !turn.isParked) await outbox.deliver(place, `files/${heard[0]?.entry.seq}`, text);
      throw error;
    }
  }

  /** With what the transcript has already. */
  async goOn(turn: RunningTurn, heard: readonly Heard[]): Promise<void> {
    await this.#turnFor(turn, heard).run([]);
  }

  #turnFor(turn: RunningTurn, heard: readonly Heard[]): AgentTurn {
    const { parts, place, channel, title, work, shared } = this.#conversation;
    const { agent, agentName, conversations, outbox, standingOf, surroundings, mostSteps, retryNoticeMs = defaultRetryNoticeMs } = shared;
    return new AgentTurn({
      id: turn.id,
      parts,
      place,
      channel,
      isDirect: heard.every(({ message }) => message.isDirect),
      title,
      agent,
      agentName,
      conversations,
      outbox,
      standingOf,
      surroundings,
      work,
      origin: () => this.#originOf(heard, turn.steered),
      mostSteps,
      retryNoticeMs,
      signal: turn.controller.signal,
      isParked: () => turn.isParked,
      steer: async (inputs) => await this.#steering(turn, inputs),
    });
  }

  /** What came meanwhile. It is taken under a name that tells the next program whether it was recorded. */
  async #steering(turn: RunningTurn, inputs: number): Promise<TurnInput[]> {
    const came = turn.steering.splice(0);
    if (came.length === 0) return [];
    const seqs = came.map(({ entry }) => entry.seq);
    const taken = new Set(await this.#conversation.shared.inbox.begin(seqs, steeringTurn(turn.id, inputs), leastRole(came)));
    const ours = came.filter(({ entry }) => taken.has(entry.seq));
    turn.steered.push(...ours);
    return await Promise.all(ours.map(({ message }) => this.#inputOf(message)));
  }

  #originOf(heard: readonly Heard[], steered: readonly Heard[] = []): CallOrigin {
    const { place, shared } = this.#conversation;
    const nameOf = (one: Heard | undefined): string => `${place.platform}:${one?.message.from.id}`;
    const last = lastSaid(heard)?.message;
    const person = nameOf(lastSaid(heard));
    const others = [...new Set([...heard, ...steered].map(nameOf))].filter((one) => one !== person);
    const approver = shared.cards.approver({ person, name: last?.from.name ?? person, isDirect: last?.isDirect ?? false }, place);
    return { source: 'chat', role: leastRole([...heard, ...steered]), approver, person, others };
  }

  async #inputOf({ text, from, quoted, forwarded, files, report, isDirect, place }: IncomingMessage): Promise<TurnInput> {
    const { channel, work } = this.#conversation;
    if (report) return { text, from: undefined, report };
    // Security: anybody in a group may take the name of somebody else there. The platform's own number of a person is no business of a model.
    const person = isDirect ? undefined : hash('sha256', JSON.stringify([place.platform, from.id])).slice(0, 8);
    return { text, from: from.name, person, quoted, forwarded, ...(await incomingFiles(files, channel, work)) };
  }

  /** Does what a command says. */
  async obey(heard: Heard): Promise<void> {
    const { entry, message, role } = heard;
    const { place, shared } = this.#conversation;
    const found = commandIn(message, role);
    if (found.kind !== 'command') return;
    const { command, rest } = found;
    const controls = new Controls(this.#conversation, heard, this.#originOf([heard]));
    const brought = command.files === 'sandbox' ? whereFilesAre((await this.#inputOf(message)).files) : '';
    const said = await command.run({ controls, from: message.from, place, role, rest }).catch((error: unknown) => {
      if (error instanceof HermeticError) return `${error.message} ${error.hint ?? ''}`.trim();
      this.#conversation.complain(error);
      return 'The command failed. See the log of the gateway.';
    });
    const { text, file = undefined } = typeof said === 'object' ? said : { text: said ?? '' };
    const all = brought + text + (command.files === 'none' ? leftOut(message.files, command.name) : '');
    if (all !== '') await shared.outbox.deliver(place, `reply/${entry.seq}`, all.trimStart(), { replyTo: message.id, file });
  }

  /** The same for one that takes a turn. */
  async runCommand(turn: RunningTurn, heard: Heard): Promise<void> {
    const { channel, place, work, shared } = this.#conversation;
    const complain = (error: unknown): void => this.#conversation.complain(error);
    const running = () => work.status().running;
    const line = new StatusLine({ turn: turn.id, place, channel, outbox: shared.outbox, running, complain });
    channel.activity?.(place, { kind: 'turn-started', turn: turn.id });
    try {
      await this.obey(heard);
    } finally {
      await line.end().catch(complain);
      channel.activity?.(place, { kind: 'turn-ended', turn: turn.id });
    }
  }
}
