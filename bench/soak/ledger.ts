const firstRoom = 65_536;
const isAnswered = 1;

/** Which messages have had their answer. A byte for each that has, so that it can go on for days. */
export class Ledger {
  /** Answers that came once more, marked as a possible repeat. */
  repeated = 0;
  /** Answers that came once more without a mark. */
  doubled = 0;
  #last = 0;
  #states = new Uint8Array(firstRoom);
  /** The chats of those without an answer, by number. */
  readonly open = new Map<number, number>();

  /** The number of a new message. */
  next(chat: number): number {
    this.#last += 1;
    this.open.set(this.#last, chat);
    if (this.#last >= this.#states.length) {
      const larger = new Uint8Array(this.#states.length * 2);
      larger.set(this.#states);
      this.#states = larger;
    }
    return this.#last;
  }

  answered(number: number, isMarked: boolean): void {
    if (isMarked && this.#states[number] === isAnswered) this.repeated += 1;
    else if (this.#states[number] === isAnswered) this.doubled += 1;
    this.#states[number] = isAnswered;
    this.open.delete(number);
  }

  get asked(): number {
    return this.#last;
  }
}
