import type { Approver, Question } from '../core/approval.ts';
import type { Channel, Outgoing, Place } from '../core/channel.ts';
import type { CardLedger, QuestionCard } from '../core/conversation.ts';
import { HermeticError } from '../core/errors.ts';
import { canonicalJson, digestOf } from '../lib/canonical-json.ts';
import type { ApproverSearch, ReachableApprover } from './approver-search.ts';
import type { Outbox } from './outbox.ts';
import { type Asker, askedBy, cardFor, listOfNames } from './question-card.ts';
import type { QuestionDesk } from './work.ts';

export interface QuestionCardsOptions {
  ledger: CardLedger;
  outbox: Outbox;
  questions: QuestionDesk;
  search: ApproverSearch;
  channels: ReadonlyMap<string, Channel>;
}

/** A card, and the people it is for. */
interface Copy extends QuestionCard {
  people: ReachableApprover[];
}

/** The messages that show questions to the people who may answer: one in each place where some of them are. */
export class QuestionCards {
  readonly #options: QuestionCardsOptions;

  constructor(options: QuestionCardsOptions) {
    this.#options = options;
  }

  /** Asks for this person, who is at this place. The answer comes as a press or a command, and it is checked there whether they may. */
  approver(asker: Asker, place: Place): Approver {
    return {
      reachesApprovers: true,
      ask: async (question, signal) => {
        try {
          await this.#ask(question, asker, place, signal);
        } finally {
          await this.settle(question.id);
        }
        return undefined;
      },
    };
  }

  /** Shows in every card of a question how it ended, and takes its buttons away. Does nothing while it is open. */
  async settle(question: string): Promise<void> {
    const cards = await this.#options.ledger.list(question);
    const outcome = cards.length > 0 ? await this.#options.questions.outcome(question) : undefined;
    if (outcome === undefined) return;
    for (const card of cards) await this.#end(card, outcome);
  }

  /** The same for every question, such as those that ended while no gateway ran. */
  async settleAll(): Promise<void> {
    const cards = await this.#options.ledger.list();
    for (const question of new Set(cards.map((card) => card.question))) await this.settle(question);
  }

  /** The messages of open questions in this chat that were sent, for a place that forgets what it showed. */
  async shownAt({ platform, chat }: Place): Promise<{ id: string; message: Outgoing }[]> {
    const { ledger, outbox } = this.#options;
    const cards = (await ledger.list()).filter(({ place }) => place.platform === platform && place.chat === chat);
    const entries = (await Promise.all(cards.map(({ key }) => outbox.delivered(key)))).flat();
    return entries.flatMap(({ sentId, message }) => (sentId === undefined ? [] : [{ id: sentId, message }]));
  }

  async #end({ key, place }: QuestionCard, outcome: string): Promise<void> {
    const { outbox, ledger } = this.#options;
    // The last message of a card has its buttons.
    const last = (await outbox.delivered(key)).at(-1);
    if (last && last.state !== 'dropped') {
      const text = last.message.text === '' ? outcome : `${last.message.text}\n${outcome}`;
      await outbox.deliver(place, `${key}/end`, text, { drafts: [last.key], buttons: [] });
    }
    await ledger.forget(key);
  }

  async #ask(question: Question, asker: Asker, place: Place, signal: AbortSignal): Promise<void> {
    const approvers = await this.#options.search.find(asker, place);
    const copies = copiesOf(question, approvers, place);
    const others = approvers.filter(({ person }) => person !== asker.person);
    if (others.length > 0) await this.#tellWhoIsAsked(question, others, place, copies);
    for (const copy of copies) await this.#show(question, copy, others.length > 0 ? askedBy(asker, place) : '');
    const failures = await Promise.all(copies.map((copy) => this.#dropped(question, copy, place, copies.length, signal)));
    if (signal.aborted) return;
    const reason = failures.find((failure) => failure !== undefined);
    const hint = 'An approver has to write to me once before I can ask them.';
    for (const { key } of await this.#options.ledger.list(question.id)) await this.#options.ledger.forget(key);
    await this.#tell(question, place, 'unreachable', `No approver can be reached, so this was not run. ${hint}`);
    throw new HermeticError('approval/denied', `no approver can be reached${reason === undefined ? '.' : ` (${reason})`}`, { hint });
  }

  /** Where the asker sees no card, this message says how the question ended. */
  async #tellWhoIsAsked({ id }: Question, others: readonly ReachableApprover[], place: Place, copies: readonly Copy[]): Promise<void> {
    const { ledger, outbox } = this.#options;
    const key = `${cardKey(id)}/asked`;
    if (!copies.some((copy) => copy.key === cardKey(id))) await ledger.add({ question: id, key, place });
    await outbox.deliver(place, key, `Asked ${names(others)} to approve this.`);
  }

  async #show(question: Question, { key, place }: Copy, header: string): Promise<void> {
    const { ledger, outbox, questions, channels } = this.#options;
    const channel = channels.get(place.platform);
    if (!channel) return;
    await ledger.add({ question: question.id, key, place });
    await outbox.deliver(place, key, ...cardFor(question, questions.text(question), header, channel.traits));
  }

  /** Resolves with the reason when the card does not arrive; with undefined when the signal comes first. */
  async #dropped(question: Question, copy: Copy, place: Place, count: number, signal: AbortSignal): Promise<string | undefined> {
    const failure = await this.#options.outbox.dropped(copy.key, signal);
    if (failure !== undefined && count > 1 && !signal.aborted) {
      await this.#tell(question, place, `missed/${digestOf(copy.key).slice(0, 12)}`, `${names(copy.people)} could not be reached.`);
    }
    return failure;
  }

  async #tell({ id }: Question, place: Place, what: string, text: string): Promise<void> {
    await this.#options.outbox.deliver(place, `${cardKey(id)}/${what}`, text);
  }
}

/** Of the card where the question came up. */
function cardKey(id: string): string {
  return `question/${id}`;
}

function names(people: readonly ReachableApprover[]): string {
  return listOfNames(people.map(({ name }) => name));
}

/** One for each place; the one where the question came up first. */
function copiesOf({ id }: Question, approvers: readonly ReachableApprover[], here: Place): Copy[] {
  const placeName = ({ platform, workspace, chat, thread }: Place): string => canonicalJson({ platform, workspace, chat, thread });
  const byPlace = Map.groupBy(approvers, ({ place }) => placeName(place));
  return [...byPlace].flatMap(([name, people]) => {
    const place = people[0]?.place;
    if (!place) return [];
    const key = name === placeName(here) ? cardKey(id) : `${cardKey(id)}/to/${digestOf(name).slice(0, 12)}`;
    return [{ question: id, key, place, people }];
  });
}
