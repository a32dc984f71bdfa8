import { mayAnswer } from '../../approval/approvers.ts';
import type { HostGrant } from '../../approval/host-grants.ts';
import { outcomeText, questionStatus, questionText } from '../../approval/question-text.ts';
import type { Attempt, Questions } from '../../approval/questions.ts';
import { endSession, setYolo } from '../../approval/session-end.ts';
import type { Answer, Approver, Question } from '../../core/approval.ts';
import type { Channel, Outgoing, Place } from '../../core/channel.ts';
import type { QuestionCard } from '../../core/conversation.ts';
import type { HostRule } from '../../core/egress.ts';
import { HermeticError } from '../../core/errors.ts';
import type { QuestionEntry, Store, Yolo } from '../../core/store.ts';
import { canonicalJson, digestOf } from '../../lib/canonical-json.ts';
import type { Role } from '../access.ts';
import type { Outbox } from '../outbox/outbox.ts';
import type { ApproverSearch, ReachableApprover } from './approver-search.ts';
import { forgetHost, type HostViewer, hostGrantsFor } from './host-answers.ts';
import { type Asker, askedBy, cardFor, listOfNames } from './question-card.ts';
import { type Choice, choiceFor } from './short-answers.ts';

export interface ChatApprovalsOptions {
  store: Pick<Store, 'approvals' | 'cards' | 'grants' | 'modes'>;
  questions: Questions;
  outbox: Outbox;
  search: ApproverSearch;
  channels: ReadonlyMap<string, Channel>;
  /** `approvals.approvers`. */
  approvers(): readonly string[];
}

/** A card, and the people it is for. */
interface Copy extends QuestionCard {
  people: ReachableApprover[];
}

/** Approvals in chats: shows a question as a card in each place where some of its approvers are, and takes their answers. */
export class ChatApprovals {
  readonly #options: ChatApprovalsOptions;

  constructor(options: ChatApprovalsOptions) {
    this.#options = options;
  }

  /** Asks for this person, who is at this place. The answer comes as a press or a command; `answer` checks whether they may. */
  approver(asker: Asker, place: Place): Approver {
    return {
      reachesApprovers: true,
      ask: async (question, signal) => {
        try {
          await this.#ask(question, asker, place, signal);
        } finally {
          await this.#settle(question.id);
        }
        return undefined;
      },
    };
  }

  /** Settles a question, in the name of `answer.by`. Resolves with the reply for them. */
  async answer(idOrCode: string, answer: Answer, role: Role, from: string): Promise<string> {
    const { by } = answer;
    const attempt = await this.#options.questions.answer(idOrCode, answer, { by, from, role, person: by });
    if (attempt.kind === 'settled') await this.#settle(attempt.question.id, attempt.question);
    return replyTo(attempt);
  }

  /**
   * The question whose card in this place has this number for one of its answers; undefined when it means nothing there. Security: what was said
   * before a question was asked, and is looked at later, is no answer to it.
   */
  async numbered(place: Place, number: string, saidAt: Date): Promise<{ code: string; choice: Choice } | 'several' | undefined> {
    const found = (await this.#cardsAt(place)).flatMap(({ code, askedAt }) => {
      const choice = askedAt < saidAt ? choiceFor(code, number) : undefined;
      return choice === undefined ? [] : [{ code, choice }];
    });
    return found.length > 1 ? 'several' : found[0];
  }

  /** The code of the question whose card in this place ends with this message; undefined when it is none. */
  async asking(place: Place, message: string): Promise<string | undefined> {
    for (const { code, key } of await this.#cardsAt(place)) {
      // The whole command has been shown when the last message of a card has.
      if ((await this.#options.outbox.delivered(key)).at(-1)?.sentId === message) return code;
    }
    return undefined;
  }

  /** Security: without the messages that say who is asked, which do not show the command. */
  async #cardsAt(here: Place): Promise<{ code: string; key: string; askedAt: Date }[]> {
    const { cards, approvals } = this.#options.store;
    const found: { code: string; key: string; askedAt: Date }[] = [];
    for (const { question, key, place } of await cards.list()) {
      const isHere = placeName(place) === placeName(here) && key !== askedKey(question);
      const entry = isHere ? await approvals.find(question) : undefined;
      if (entry?.state === 'open') found.push({ code: entry.code, key, askedAt: entry.askedAt });
    }
    return found;
  }

  /** The open questions of this session. */
  async open(parts: readonly string[]): Promise<QuestionEntry[]> {
    const session = JSON.stringify(parts);
    return (await this.#options.questions.open()).filter((one) => JSON.stringify(one.parts) === session);
  }

  /** The open questions that this person may answer, in all sessions. */
  async answerable(person: string, role: Role): Promise<QuestionEntry[]> {
    const approvers = this.#options.approvers();
    const answerer = { by: person, from: '', role, person };
    return (await this.#options.questions.open()).filter((one) => mayAnswer(answerer, one.person, approvers));
  }

  /**
   * Of a run that asked before it began: `waiting` when the question is open, or when it is settled and the run does not know yet, and
   * `withdrawn` when it was taken back. undefined when it asked nothing, or may have begun.
   */
  async notBegun(parts: readonly string[], run: string): Promise<'waiting' | 'withdrawn' | undefined> {
    const found = await this.#options.store.approvals.list({ session: parts, run });
    if (found.length === 0 || found.some(({ claimedAt }) => claimedAt !== undefined)) return undefined;
    return found.every(({ state }) => state === 'withdrawn') ? 'withdrawn' : 'waiting';
  }

  async withdraw(parts: readonly string[], why: string): Promise<void> {
    await this.#options.questions.withdraw(parts, why);
  }

  /** The people who have turned approvals off for themselves in this session. */
  yolo(parts: readonly string[]): Promise<Yolo[]> {
    return this.#options.store.modes.yolo(parts);
  }

  /** For this person; `off` is for everybody in the session. */
  setYolo(parts: readonly string[], by: string, on: boolean): Promise<void> {
    return setYolo(this.#options.store.modes, parts, by, on);
  }

  /** The grants for hosts that this person may see here. */
  hostGrants(viewer: HostViewer): Promise<HostGrant[]> {
    return hostGrantsFor(this.#options.store.grants, viewer);
  }

  /** Takes back grants for a host. Resolves with those that this person could take back. */
  forgetHost(rule: HostRule, viewer: HostViewer): Promise<HostGrant[]> {
    return forgetHost(this.#options.store.grants, rule, viewer);
  }

  /** Ends the grants, questions and modes of this conversation. */
  endSession(parts: readonly string[], by: string): Promise<void> {
    const { questions, store } = this.#options;
    return endSession({ questions, grants: store.grants, modes: store.modes }, parts, by);
  }

  /** Settles the cards of questions that ended while no gateway ran. */
  async settleAll(): Promise<void> {
    const cards = await this.#options.store.cards.list();
    for (const question of new Set(cards.map((card) => card.question))) await this.#settle(question);
  }

  /** The messages of open questions in this chat that were sent, for a place that forgets what it showed. */
  async shownAt({ platform, chat }: Place): Promise<{ id: string; message: Outgoing }[]> {
    const { store, outbox } = this.#options;
    const cards = (await store.cards.list()).filter(({ place }) => place.platform === platform && place.chat === chat);
    const entries = (await Promise.all(cards.map(({ key }) => outbox.delivered(key)))).flat();
    return entries.flatMap(({ sentId, message }) => (sentId === undefined ? [] : [{ id: sentId, message }]));
  }

  /** Shows in every card of a question how it ended, and takes its buttons away. Does nothing while it is open. */
  async #settle(id: string, known?: QuestionEntry): Promise<void> {
    const cards = await this.#options.store.cards.list(id);
    const outcome = cards.length > 0 ? outcomeText(known ?? (await this.#current(id))) : undefined;
    if (outcome === undefined) return;
    for (const card of cards) await this.#end(card, outcome);
  }

  async #current(id: string): Promise<QuestionEntry | undefined> {
    const { store, questions } = this.#options;
    const question = await store.approvals.find(id);
    if (question?.state !== 'open' || question.expiresAt.getTime() > Date.now()) return question;
    // An overdue question is settled by looking at the open ones.
    await questions.open();
    return await store.approvals.find(id);
  }

  async #end({ key, place }: QuestionCard, outcome: string): Promise<void> {
    const { outbox, store } = this.#options;
    // The last message of a card has its buttons.
    const last = (await outbox.delivered(key)).at(-1);
    if (last && last.state !== 'dropped') {
      const text = last.message.text === '' ? outcome : `${last.message.text}\n${outcome}`;
      await outbox.deliver(place, `${key}/end`, text, { drafts: [last.key], buttons: [] });
    }
    await store.cards.forget(key);
  }

  async #ask(question: Question, asker: Asker, place: Place, signal: AbortSignal): Promise<void> {
    const { search, store } = this.#options;
    const approvers = await search.find(asker, place);
    const copies = copiesOf(question, approvers, place);
    const others = approvers.filter(({ person }) => person !== asker.person);
    if (others.length > 0) await this.#sayWhoIsAsked(question, others, place, copies);
    for (const copy of copies) await this.#show(question, copy, others.length > 0 ? askedBy(asker, place) : '');
    const failures = await Promise.all(copies.map((copy) => this.#dropped(question, copy, place, copies.length, signal)));
    if (signal.aborted) return;
    const reason = failures.find((failure) => failure !== undefined);
    const hint = 'An approver has to write to me once before I can ask them.';
    for (const { key } of await store.cards.list(question.id)) await store.cards.forget(key);
    await this.#say(question, place, 'unreachable', `No approver can be reached, so this was not run. ${hint}`);
    throw new HermeticError('approval/denied', `no approver can be reached${reason === undefined ? '.' : ` (${reason})`}`, { hint });
  }

  /** Where the asker sees no card, this message says how the question ended. */
  async #sayWhoIsAsked({ id }: Question, others: readonly ReachableApprover[], place: Place, copies: readonly Copy[]): Promise<void> {
    const { store, outbox } = this.#options;
    const key = askedKey(id);
    if (!copies.some((copy) => copy.key === cardKey(id))) await store.cards.add({ question: id, key, place });
    await outbox.deliver(place, key, `Asked ${names(others)} to approve this.`);
  }

  async #show(question: Question, { key, place }: Copy, header: string): Promise<void> {
    const { store, outbox, channels } = this.#options;
    const channel = channels.get(place.platform);
    if (!channel) return;
    await store.cards.add({ question: question.id, key, place });
    await outbox.deliver(place, key, ...cardFor(question, questionText(question), header, channel.traits));
  }

  /** Resolves with the reason when the card does not arrive; with undefined when the signal comes first. */
  async #dropped(question: Question, copy: Copy, place: Place, count: number, signal: AbortSignal): Promise<string | undefined> {
    const failure = await this.#options.outbox.dropped(copy.key, signal);
    if (failure !== undefined && count > 1 && !signal.aborted) {
      await this.#say(question, place, `missed/${digestOf(copy.key).slice(0, 12)}`, `${names(copy.people)} could not be reached.`);
    }
    return failure;
  }

  async #say({ id }: Question, place: Place, what: string, text: string): Promise<void> {
    await this.#options.outbox.deliver(place, `${cardKey(id)}/${what}`, text);
  }
}

function replyTo(attempt: Attempt): string {
  switch (attempt.kind) {
    case 'settled':
      return 'Answer recorded.';
    case 'foreign':
      return 'You may not answer this question.';
    case 'stale':
      return questionStatus(attempt.question);
    case 'unknown':
      return 'No question has this code.';
  }
}

/** The key of the card where the question came up. */
function cardKey(id: string): string {
  return `question/${id}`;
}

/** The key of the message that says who is asked. */
function askedKey(id: string): string {
  return `${cardKey(id)}/asked`;
}

function names(people: readonly ReachableApprover[]): string {
  return listOfNames(people.map(({ name }) => name));
}

function placeName({ platform, workspace, chat, thread }: Place): string {
  return canonicalJson({ platform, workspace, chat, thread });
}

/** One for each place; the one where the question came up first. */
function copiesOf({ id }: Question, approvers: readonly ReachableApprover[], here: Place): Copy[] {
  const byPlace = Map.groupBy(approvers, ({ place }) => placeName(place));
  return [...byPlace].flatMap(([name, people]) => {
    const place = people[0]?.place;
    if (!place) return [];
    const key = name === placeName(here) ? cardKey(id) : `${cardKey(id)}/to/${digestOf(name).slice(0, 12)}`;
    return [{ question: id, key, place, people }];
  });
}
