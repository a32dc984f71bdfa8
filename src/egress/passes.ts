import { type ConnectionAnswer, type Destination, destinationText } from '../core/egress.ts';
import { within } from '../lib/deadline.ts';
import { type QuestionLine, unlistedAnswer } from './question-line.ts';

/** A yes that one command has for one destination. */
export interface Pass {
  mark: string;
  destination: Destination;
}

type Until = Extract<ConnectionAnswer, { allowed: true }>['until'];

interface KeptPass extends Pass {
  until: Until;
  checkedAt: number;
  checking: Promise<boolean> | undefined;
}

export interface PassParts {
  line: QuestionLine;
  /** Whether a connection rests on it now. */
  isUsed(pass: Pass): boolean;
  onRevoked(pass: Pass, answer: Extract<ConnectionAnswer, { allowed: false }>): void;
}

const maxPasses = 1_024;
const checkEveryMs = 2_000;
/** People are not asked. */
const maxCheckMs = 30_000;

export function passKey({ mark, destination }: Pass): string {
  return `${mark} ${destinationText(destination)}`;
}

/** What commands of one sandbox have been allowed, until its door is closed. */
export class Passes {
  readonly #parts: PassParts;
  /** The one that was used last is the last. */
  readonly #kept = new Map<string, KeptPass>();
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: PassParts) {
    this.#parts = parts;
  }

  grant({ mark, destination }: Pass, until: Until): void {
    this.#use({ mark, destination, until, checkedAt: performance.now(), checking: undefined });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > maxPasses && oldest !== undefined) this.#kept.delete(oldest);
  }

  /** As far as it was checked last. */
  has(pass: Pass): boolean {
    return this.#kept.has(passKey(pass));
  }

  /** Whether a new connection may rest on it. Asks again when that was too long ago. */
  async allows(pass: Pass): Promise<boolean> {
    const kept = this.#kept.get(passKey(pass));
    if (!kept) return false;
    const isFresh = kept.until === 'command-ends' || performance.now() - kept.checkedAt < checkEveryMs;
    if (!isFresh && !(await this.#check(kept))) return false;
    this.#use(kept);
    return true;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#kept.clear();
  }

  #use(pass: KeptPass): void {
    const key = passKey(pass);
    this.#kept.delete(key);
    this.#kept.set(key, pass);
    if (pass.until === 'revoked') this.#timer ??= setTimeout(() => void this.#checkUsed(), checkEveryMs);
  }

  async #checkUsed(): Promise<void> {
    const used = [...this.#kept.values()].filter((kept) => kept.until === 'revoked' && this.#parts.isUsed(kept));
    await Promise.all(used.map((kept) => this.#check(kept)));
    this.#timer = undefined;
    for (const kept of used) if (this.has(kept)) this.#use(kept);
  }

  async #check(kept: KeptPass): Promise<boolean> {
    kept.checking ??= this.#ask(kept).finally(() => {
      kept.checking = undefined;
    });
    return await kept.checking;
  }

  async #ask(kept: KeptPass): Promise<boolean> {
    const { mark, destination } = kept;
    const asked = this.#parts.line.decide(mark, { ...destination, program: undefined }, { isCheck: true });
    const answer = await within(maxCheckMs, asked, () => unlistedAnswer);
    const key = passKey(kept);
    // The door was closed, or it was granted anew.
    if (this.#kept.get(key) !== kept) return this.#kept.has(key);
    if (answer.allowed) {
      Object.assign(kept, { until: answer.until, checkedAt: performance.now() });
      return true;
    }
    this.#kept.delete(key);
    this.#parts.onRevoked(kept, answer);
    return false;
  }
}
