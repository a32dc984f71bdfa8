import { BoundedMap } from '../../lib/bounded-map.ts';

/** More than these are forgotten. */
const maxKnown = 2000;
/** A quote shows the beginning. */
const maxQuote = 1000;

/** What was said a short while ago: a reply has to repeat what it replies to, and names people by numbers only. */
export class Recent {
  readonly #texts = new BoundedMap<string, string>(maxKnown);
  readonly #names = new BoundedMap<string, string>(maxKnown);

  said(id: string, text: string): void {
    this.#texts.set(id, text.slice(0, maxQuote).toWellFormed());
  }

  textOf(id: string): string | undefined {
    return this.#texts.get(id);
  }

  met(person: string, name: string): void {
    this.#names.set(person, name);
  }

  nameOf(person: string): string | undefined {
    return this.#names.get(person);
  }
}
