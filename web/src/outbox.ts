import { ApiError, api } from './api.ts';
import type { FileInfo } from './wire.ts';

/** Said, and not known to be with the gateway. */
export interface Unsent {
  id: string;
  chat: string;
  text: string;
  files: readonly FileInfo[];
  /** Why it never will be. */
  failure?: string;
}

const key = 'hermetic.unsent';

/** Keeps what was said through reloads until the gateway has it. Sending twice does no harm: the id is the same. */
export class Outbox {
  #unsent: readonly Unsent[] = stored();
  #isSending = false;
  #failures = 0;
  readonly #changed: (unsent: readonly Unsent[]) => void;

  constructor(changed: (unsent: readonly Unsent[]) => void) {
    this.#changed = changed;
  }

  get unsent(): readonly Unsent[] {
    return this.#unsent;
  }

  add(message: Unsent): void {
    this.#set([...this.#unsent, message]);
    void this.send();
  }

  remove(id: string): void {
    this.#set(this.#unsent.filter((message) => message.id !== id));
  }

  /** Sends the waiting messages one after the other. Tries again by itself. */
  async send(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    try {
      for (let next = this.#next(); next; next = this.#next()) {
        const { id, chat, text, files } = next;
        await api.send(chat, { id, text, files: files.map((file) => file.id) }).then(
          () => this.remove(id),
          (error: unknown) => this.#failed(id, error),
        );
      }
      this.#failures = 0;
    } catch (error) {
      // Not signed in: they are sent after signing in.
      if (error instanceof ApiError && error.status === 401) return;
      this.#failures += 1;
      setTimeout(() => void this.send(), Math.min(15_000, 400 * 2 ** this.#failures));
    } finally {
      this.#isSending = false;
    }
  }

  #next(): Unsent | undefined {
    return this.#unsent.find(({ failure }) => failure === undefined);
  }

  #failed(id: string, error: unknown): void {
    if (!(error instanceof ApiError) || error.isTemporary || error.status === 401) throw error;
    this.#set(this.#unsent.map((message) => (message.id === id ? { ...message, failure: error.message } : message)));
  }

  #set(unsent: readonly Unsent[]): void {
    this.#unsent = unsent;
    localStorage.setItem(key, JSON.stringify(unsent));
    this.#changed(unsent);
  }
}

function stored(): readonly Unsent[] {
  try {
    return JSON.parse(localStorage.getItem(key) ?? '[]') as Unsent[];
  } catch {
    return [];
  }
}
