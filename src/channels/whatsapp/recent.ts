/** More than these are forgotten. */
const maxMessages = 2000;
const maxNames = 2000;
/** A quote shows the beginning. */
const maxQuote = 1000;

interface Said {
  text: string;
  name: string;
  person: string;
}

/** What was said a short while ago: a reply has to repeat what it replies to, and names people by numbers only. */
export class Recent {
  readonly #messages = new Map<string, string>();
  readonly #names = new Map<string, string>();

  add(id: string, { text, name, person }: Said): void {
    keep(this.#messages, id, text.slice(0, maxQuote), maxMessages);
    keep(this.#names, person, name, maxNames);
  }

  textOf(id: string): string | undefined {
    return this.#messages.get(id);
  }

  nameOf(person: string): string | undefined {
    return this.#names.get(person);
  }
}

function keep(map: Map<string, string>, key: string, value: string, max: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > max && oldest !== undefined) map.delete(oldest);
}
