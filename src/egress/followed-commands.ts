import type { ConnectionAnswer, FollowedCommand } from '../core/egress.ts';
import type { Question, Reply } from './messages.ts';
import { unlistedAnswer } from './question-line.ts';

/** Processes that older commands left running are asked about no more. */
const maxCommands = 256;

/** The commands of one sandbox, in the main thread, and the questions about their connections. */
export class FollowedCommands {
  /** By mark, the oldest first. */
  readonly #commands = new Map<string, FollowedCommand>();
  readonly #asking = new Map<number, AbortController>();

  add(command: FollowedCommand): void {
    this.#commands.delete(command.mark);
    this.#commands.set(command.mark, command);
    const [oldest] = this.#commands.keys();
    if (this.#commands.size > maxCommands && oldest !== undefined) this.#commands.delete(oldest);
  }

  /** Never rejects. */
  async reply(question: number, content: Question): Promise<Reply> {
    if (content.kind === 'only-command') return { kind: 'only-command', mark: this.#onlyMark() };
    return { kind: 'decide', answer: await this.#decide(question, content) };
  }

  /** No client waits for the answer any more. */
  left(question: number): void {
    this.#asking.get(question)?.abort();
  }

  /** No client waits for any answer. */
  close(): void {
    for (const asking of this.#asking.values()) asking.abort();
    this.#commands.clear();
  }

  #onlyMark(): string | undefined {
    const [only, ...others] = [...this.#commands.values()].filter((command) => command.isRunning());
    return others.length === 0 ? only?.mark : undefined;
  }

  async #decide(question: number, { mark, request, isCheck }: Extract<Question, { kind: 'decide' }>): Promise<ConnectionAnswer> {
    // Security: a mark that is not known may be that of a command of another program that has the sandbox open, and is not asked about here.
    const ask = this.#commands.get(mark)?.ask;
    if (!ask) return unlistedAnswer;
    const asking = new AbortController();
    this.#asking.set(question, asking);
    try {
      return await ask(request, { left: asking.signal, isCheck });
    } catch {
      // Security: a fault of the code that asks opens nothing.
      return unlistedAnswer;
    } finally {
      this.#asking.delete(question);
    }
  }
}
