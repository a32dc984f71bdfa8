import type { Usage } from '../core/conversation.ts';
import type { Message } from './messages.ts';
import { tailStart, withLongTextsCut, withOldResultsCut } from './shorten.ts';
import { tokensOfAll } from './size.ts';
import { asText, isSummary, summaryMessage } from './summary.ts';

/** Shares of what the model takes in. */
const full = 0.75;
const roomy = 0.5;
const tail = 0.2;
/** The older part, when it is summed up, in characters for each token the model takes in. */
const summaryCharacters = 1.5;
const shortestCut = 200;

/**
 * The part of the transcript that is sent to the model. The transcript is the truth and stays as it is; here its old parts become shorter when it is too
 * long for the model.
 */
export class Context {
  #messages: Message[];
  /** How many recorded messages the first one stands for. */
  #lead = 1;
  /** How many tokens the model takes in. */
  #window: number;
  /** Taken by what is sent along with the messages. */
  readonly #overhead: number;
  /** Real tokens for each that was guessed. */
  #scale = 1;

  constructor(messages: readonly Message[], window: number, overhead: number) {
    this.#messages = [...messages];
    this.#window = window;
    this.#overhead = overhead;
  }

  get messages(): readonly Message[] {
    return this.#messages;
  }

  get isFull(): boolean {
    return this.#tokens > this.#window * full;
  }

  get #tokens(): number {
    return (tokensOfAll(this.#messages) + this.#overhead) * this.#scale;
  }

  add(message: Message): void {
    this.#messages.push(message);
  }

  /** The provider has counted. */
  counted(inputTokens: number, guessed: number): void {
    if (inputTokens > 0 && guessed > 0) this.#scale = Math.min(3, Math.max(0.3, inputTokens / guessed));
  }

  /** The guess for what would be sent now, before any scale. */
  get guess(): number {
    return tokensOfAll(this.#messages) + this.#overhead;
  }

  /** The provider says that it is too long, so it takes less than was thought. */
  shrink(): void {
    this.#window = Math.floor(Math.min(this.#window, this.#tokens / full) * 0.6);
  }

  /** Old results of tools first, since they take the most room and are needed the least. False when that is not enough. */
  trim(): boolean {
    this.#messages = withOldResultsCut(this.#messages, tailStart(this.#messages, this.#tailTokens));
    return this.#tokens <= this.#window * roomy;
  }

  /**
   * Replaces the older part by what `write` makes of it; when that fails, by a note that it is missing, which is not kept: next time it is tried
   * again. `keep` tells whether the transcript begins with the summary from now on.
   */
  async summarise(
    write: (text: string) => Promise<{ text: string; usage: Usage } | undefined>,
    keep: (count: number, summary: Message, usage: Usage) => Promise<boolean>,
  ): Promise<void> {
    const start = tailStart(this.#messages, this.#tailTokens);
    const replaced = this.#messages.slice(0, start);
    const kept = this.#messages.slice(start);
    if (!replaced.every(isSummary)) {
      const written = await write(asText(replaced, Math.floor(this.#window * summaryCharacters)));
      const summary = summaryMessage(written?.text, replaced, kept);
      const count = this.#lead + replaced.length - 1;
      this.#messages = [summary, ...kept];
      this.#lead = count;
      if (written && (await keep(count, summary, written.usage))) this.#lead = 1;
    }
    this.#squeeze();
  }

  /** Messages that cannot be summed up, such as one that is longer than the whole room. */
  #squeeze(): void {
    for (let most = Math.floor(this.#window); this.#tokens > this.#window * full && most >= shortestCut; most = Math.floor(most / 2)) {
      this.#messages = withLongTextsCut(this.#messages, most);
    }
  }

  get #tailTokens(): number {
    return (this.#window * tail) / this.#scale;
  }
}
