import { BoundedMap } from '../../lib/bounded-map.ts';
import { interactionPrefix } from './parse.ts';

/** So long can an interaction be answered. */
const lifeMs = 15 * 60_000;
const maxKept = 10_000;

interface Known {
  application: string;
  /** Secret: with it anyone can answer in our name. */
  token: string;
  /** Discord takes nothing else about it before. Never rejects. */
  acknowledged: Promise<void>;
  /** Something was said to Discord about it, which is its acknowledgement. */
  isClaimed?: boolean;
}

/** Presses and commands of this program, as long as they can be answered. */
export class Interactions {
  readonly #known = new BoundedMap<string, Known & { at: number }>(maxKept);

  add(id: string, known: Known): void {
    this.#known.set(id, { ...known, at: Date.now() });
  }

  /** False the second time, and when it cannot be answered any more: the first answer acknowledges it. */
  claim(press: string): boolean {
    const known = this.find(press);
    if (!known || known.isClaimed) return false;
    known.isClaimed = true;
    return true;
  }

  /** By the id of a press. */
  find(press: string): Known | undefined {
    const known = this.#known.get(press.slice(interactionPrefix.length));
    return known && Date.now() - known.at < lifeMs ? known : undefined;
  }
}
