import { BoundedMap } from '../../lib/bounded-map.ts';
import { interactionPrefix } from './parse.ts';

/** So long can an interaction be answered. */
const lifeMs = 15 * 60_000;
const maxKept = 10_000;

interface Known {
  application: string;
  /** Secret: whoever has it can answer in our name. */
  token: string;
  at: number;
}

/** Presses and commands of this program, as long as they can be answered. */
export class Interactions {
  readonly #known = new BoundedMap<string, Known>(maxKept);

  add(id: string, application: string, token: string): void {
    this.#known.set(id, { application, token, at: Date.now() });
  }

  /** By the id of a press. */
  find(press: string): Known | undefined {
    const known = this.#known.get(press.slice(interactionPrefix.length));
    return known && Date.now() - known.at < lifeMs ? known : undefined;
  }
}
