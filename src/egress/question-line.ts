import type { ConnectionAnswer, ConnectionRequest } from '../core/egress.ts';
import type { LineNotice, Question, Reply } from './messages.ts';

/** The questions of one door to the main thread. */
export interface QuestionLine {
  /** The mark of the only command that runs now; undefined when there is none, or several. Never rejects. */
  onlyCommand(): Promise<string | undefined>;
  /** Whether a connection is allowed to the command of this mark. `left`: no client waits for the answer any more. Never rejects. */
  decide(mark: string, request: ConnectionRequest, options: { isCheck: boolean; left?: AbortSignal }): Promise<ConnectionAnswer>;
}

export const unlistedAnswer: ConnectionAnswer = { allowed: false, reason: 'unlisted' };

/** The end of the line in the egress thread. */
export class DoorQuestions implements QuestionLine {
  readonly #post: (notice: LineNotice) => void;
  readonly #waiting = new Map<number, (reply: Reply | undefined) => void>();
  #last = 0;
  #isClosed = false;

  constructor(post: (notice: LineNotice) => void) {
    this.#post = post;
  }

  async onlyCommand(): Promise<string | undefined> {
    const reply = await this.#ask({ kind: 'only-command' });
    return reply?.kind === 'only-command' ? reply.mark : undefined;
  }

  async decide(
    mark: string,
    request: ConnectionRequest,
    { isCheck, left }: { isCheck: boolean; left?: AbortSignal },
  ): Promise<ConnectionAnswer> {
    const reply = await this.#ask({ kind: 'decide', mark, request, isCheck }, left);
    return reply?.kind === 'decide' ? reply.answer : unlistedAnswer;
  }

  take(question: number, reply: Reply): void {
    this.#waiting.get(question)?.(reply);
  }

  /** Answers every question with no. */
  close(): void {
    this.#isClosed = true;
    for (const answer of this.#waiting.values()) answer(undefined);
  }

  async #ask(content: Question, left?: AbortSignal): Promise<Reply | undefined> {
    if (this.#isClosed) return undefined;
    this.#last += 1;
    const question = this.#last;
    const { promise, resolve } = Promise.withResolvers<Reply | undefined>();
    const leave = (): void => this.#post({ kind: 'left', question });
    this.#waiting.set(question, resolve);
    left?.addEventListener('abort', leave, { once: true });
    this.#post({ kind: 'question', question, content });
    try {
      return await promise;
    } finally {
      this.#waiting.delete(question);
      left?.removeEventListener('abort', leave);
    }
  }
}
