import type { ConnectionAnswer, FollowedCommand } from '../core/egress.ts';
import type { Question, Reply } from './messages.ts';
import { unlistedAnswer } from './question-line.ts';

/** Processes that older commands left running are asked about no more. */
const maxCommands = 256;
/** After so many commands it is found out which of them have left processes; the others are forgotten, with all that they keep in memory. */
const lookEvery = 16;

/** The commands of one sandbox, in the main thread, and the questions about their connections. */
export class FollowedCommands {
  /** By mark, the oldest first. */
  readonly #commands = new Map<string, FollowedCommand>();
  readonly #asking = new Map<number, AbortController>();
  readonly #look: () => void;
  #added = 0;
  /** Marks of commands that had ended when it was last looked for their processes. */
  #ended: readonly string[] = [];
  /** Those of them of which no process was found. */
  #gone: ReadonlySet<string> = new Set();

  /** `look`: finds out which commands have processes, for `keepLive`. */
  constructor(look: () => void) {
    this.#look = look;
  }

  add(command: FollowedCommand): void {
    this.#commands.delete(command.mark);
    this.#commands.set(command.mark, command);
    this.#added += 1;
    if (this.#added % lookEvery === 0) {
      this.#ended = [...this.#commands.values()].filter(({ isRunning }) => !isRunning()).map(({ mark }) => mark);
      this.#look();
    }
    const [oldest] = this.#commands.keys();
    if (this.#commands.size > maxCommands && oldest !== undefined) this.#commands.delete(oldest);
  }

  /** `marks`: of the commands that have processes. Forgets those that had none twice: one look may miss a process that starts another and ends. */
  keepLive(marks: ReadonlySet<string>): void {
    const gone = this.#ended.filter((mark) => !marks.has(mark));
    for (const mark of gone) if (this.#gone.has(mark)) this.#commands.delete(mark);
    this.#gone = new Set(gone);
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
