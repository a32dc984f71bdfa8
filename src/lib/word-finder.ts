/**
 * Finds many words in a text at once, byte by byte, in time that grows with the text alone (Aho and Corasick): a state is the longest
 * beginning of any word that the text ends with.
 */
export class WordFinder {
  /** Of every state: how many bytes of a word have been seen. */
  readonly depth: Int32Array;
  /** Of every state: the length of the longest word that ends here; 0 when none does. */
  readonly found: Int32Array;
  /** Of every state with such a word: its number. */
  readonly word: Int32Array;
  readonly longest: number;
  /** How much was compared, beyond one look at each byte. */
  steps = 0;
  readonly #fromStart = new Int32Array(256);
  readonly #child: Int32Array;
  readonly #sibling: Int32Array;
  readonly #shorter: Int32Array;
  readonly #byte: Uint8Array;

  constructor(words: readonly Uint8Array[]) {
    const most = words.reduce((sum, { length }) => sum + length, 1);
    this.depth = new Int32Array(most);
    this.found = new Int32Array(most);
    this.word = new Int32Array(most).fill(-1);
    this.#child = new Int32Array(most);
    this.#sibling = new Int32Array(most);
    this.#shorter = new Int32Array(most);
    this.#byte = new Uint8Array(most);
    this.longest = words.reduce((longest, { length }) => Math.max(longest, length), 0);
    let states = 1;
    words.forEach((word, number) => {
      let state = 0;
      for (const byte of word) {
        const known = this.#after(state, byte);
        if (known === 0) this.#add(state, states, byte);
        state = known === 0 ? states++ : known;
      }
      this.found[state] = word.length;
      this.word[state] = number;
    });
    this.#link();
  }

  #after(state: number, byte: number): number {
    if (state === 0) return this.#fromStart[byte] ?? 0;
    for (let next = this.#child[state] ?? 0; next !== 0; next = this.#sibling[next] ?? 0) {
      this.steps += 1;
      if (this.#byte[next] === byte) return next;
    }
    return 0;
  }

  #add(parent: number, state: number, byte: number): void {
    this.#byte[state] = byte;
    this.depth[state] = (this.depth[parent] ?? 0) + 1;
    if (parent === 0) this.#fromStart[byte] = state;
    else {
      this.#sibling[state] = this.#child[parent] ?? 0;
      this.#child[parent] = state;
    }
  }

  /** Level by level, so that the shorter beginning of every state is known before it is needed. */
  #link(): void {
    const queue = [...this.#fromStart].filter((state) => state !== 0);
    for (let at = 0; at < queue.length; at++) {
      const state = queue[at] ?? 0;
      for (let next = this.#child[state] ?? 0; next !== 0; next = this.#sibling[next] ?? 0) {
        const shorter = this.step(this.#shorter[state] ?? 0, this.#byte[next] ?? 0);
        this.#shorter[next] = shorter;
        if (this.found[next] === 0) {
          this.found[next] = this.found[shorter] ?? 0;
          this.word[next] = this.word[shorter] ?? -1;
        }
        queue.push(next);
      }
    }
    this.steps = 0;
  }

  /** The state after one more byte. */
  step(state: number, byte: number): number {
    for (let from = state; from !== 0; from = this.#shorter[from] ?? 0) {
      const next = this.#after(from, byte);
      if (next !== 0) return next;
    }
    return this.#fromStart[byte] ?? 0;
  }
}
