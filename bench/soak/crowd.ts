import { setTimeout as sleep } from 'node:timers/promises';
import type { FakeBotApi } from '../../test/fakes/bot-api.ts';
import type { BotMessage } from '../../test/fakes/bot-api-world.ts';
import { Ledger } from './ledger.ts';
import { isMarkedRepeat, type Kind, numbersIn, questionText } from './script.ts';

export interface CrowdOptions {
  /** So many people write, each in a private chat. */
  chats: number;
  /** So many messages are under way at once. */
  inFlight: number;
  random: () => number;
  /** A person who has no answer after this time writes again. */
  asksAgainAfterMs: number;
}

const firstPerson = 2000;
const firstStranger = 5_000_000;
/** Of all messages. */
const shareOfNew = 0.02;
const shareOfStrangers = 0.005;
const maxAttempts = 10;
const toolEvery = 4;

/** People who write to the bot, and what they have heard from it. */
export class Crowd {
  readonly ledger = new Ledger();
  /** What the next messages ask for. */
  kind: Kind = 'plain';
  /** In so many of the chats, every fourth message asks for a tool. */
  toolChats = 0;
  /** `/new` that were never answered. */
  lostCommands = 0;
  readonly #api: FakeBotApi;
  readonly #options: CrowdOptions;
  readonly #idle: number[];
  readonly #byNumber = new Map<number, () => void>();
  /** Who waits for the answer to a command, by chat. */
  readonly #byChat = new Map<number, () => void>();
  /** Who is told that the bot was interrupted, by chat. */
  readonly #interruptions = new Map<number, () => void>();
  /** End the waits of the moment. */
  readonly #ends = new Set<() => void>();
  #strangers = 0;
  #failed: Error | undefined;

  constructor(api: FakeBotApi, options: CrowdOptions) {
    this.#api = api;
    this.#options = options;
    this.#idle = Crowd.people(options.chats);
    api.trouble = ({ method, parameters }) => {
      if (method === 'sendmessage') this.#heard(Number(parameters.chat_id), String(parameters.text));
      return undefined;
    };
  }

  static people(chats: number): number[] {
    return Array.from({ length: chats }, (_, index) => firstPerson + index);
  }

  /** Ends all loops and waits. */
  fail(error: Error): void {
    this.#failed ??= error;
    for (const end of this.#ends) end();
  }

  /** Closed loop: each answer is followed by the next message. Resolves with the number of messages when all that were begun are answered. */
  async converse(goesOn: (begun: number) => boolean): Promise<number> {
    let begun = 0;
    const loops = Array.from({ length: Math.min(this.#options.inFlight, this.#idle.length) }, async () => {
      while (!this.#failed && goesOn(begun)) {
        begun += 1;
        await this.#anyone();
      }
    });
    await Promise.all(loops);
    if (this.#failed) throw this.#failed;
    return begun;
  }

  /** Open loop: messages arrive at random moments, answered or not. */
  async arrive(perSecond: number, forMs: number): Promise<number> {
    const underWay = new Set<Promise<void>>();
    const begunAt = performance.now();
    let begun = 0;
    let nextAt = begunAt;
    while (!this.#failed && nextAt < begunAt + forMs) {
      await sleep(Math.max(0, nextAt - performance.now()));
      nextAt += (-Math.log(1 - this.#options.random()) / perSecond) * 1000;
      // Everyone is waiting for an answer: the next person to get one is late.
      if (this.#idle.length === 0) continue;
      begun += 1;
      const message = this.#anyone();
      underWay.add(message);
      void message.finally(() => underWay.delete(message));
    }
    await Promise.all(underWay);
    if (this.#failed) throw this.#failed;
    return begun;
  }

  /** Counts what a message said when it will not change any more. */
  settle({ text }: BotMessage): void {
    for (const number of numbersIn(text)) this.ledger.answered(number, isMarkedRepeat(text));
  }

  async #anyone(): Promise<void> {
    const { random } = this.#options;
    const index = Math.floor(random() * this.#idle.length);
    const [person] = this.#idle.splice(index, 1);
    if (person === undefined) throw new Error('There are fewer chats than messages under way.');
    if (random() < shareOfStrangers) this.#say(firstStranger + this.#strangers++, 'Hello, who are you?');
    if (random() < shareOfNew) await this.#command(person);
    await this.#message(person);
    this.#idle.push(person);
  }

  /** Ends when the last message of this person is answered: then the earlier ones were, or are lost. */
  async #message(person: number): Promise<void> {
    for (let attempt = 0; attempt < maxAttempts && !this.#failed; attempt++) {
      const number = this.ledger.next(person);
      const answer = Promise.withResolvers<void>();
      const interruption = Promise.withResolvers<void>();
      this.#byNumber.set(number, answer.resolve);
      this.#interruptions.set(person, interruption.resolve);
      this.#say(person, questionText(number, this.#kindOf(number, person)));
      const isAnswered = await this.#within(answer.promise, interruption.promise);
      this.#byNumber.delete(number);
      if (isAnswered) break;
    }
    this.#interruptions.delete(person);
  }

  #kindOf(number: number, person: number): Kind {
    return person < firstPerson + this.toolChats && number % toolEvery === 0 ? 'tool' : this.kind;
  }

  /** False when nothing came in time, or word of an interruption came instead. */
  async #within(answer: Promise<void>, interruption: Promise<void>): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const end = (): void => resolve(false);
    const timer = setTimeout(end, this.#options.asksAgainAfterMs);
    this.#ends.add(end);
    void answer.then(() => resolve(true));
    void interruption.then(end);
    return await promise.finally(() => {
      clearTimeout(timer);
      this.#ends.delete(end);
    });
  }

  async #command(person: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#byChat.set(person, resolve);
    this.#say(person, '/new');
    if (!(await this.#within(promise, new Promise(() => undefined)))) this.lostCommands += 1;
    this.#byChat.delete(person);
  }

  #say(person: number, text: string): void {
    this.#api.world.says({ from: { id: person, is_bot: false, first_name: `Person ${person}` }, text });
  }

  #heard(chat: number, text: string): void {
    const numbers = numbersIn(text);
    for (const number of numbers) this.#byNumber.get(number)?.();
    if (numbers.length > 0) return;
    this.#byChat.get(chat)?.();
    if (text.includes('was interrupted')) this.#interruptions.get(chat)?.();
  }
}
