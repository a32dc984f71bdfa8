import type { Transformer } from 'node:stream/web';
import type { LanguageModel, LanguageModelMiddleware } from 'ai';

type Streamed = Awaited<ReturnType<NonNullable<LanguageModelMiddleware['wrapStream']>>>;
type Part = Streamed['stream'] extends ReadableStream<infer One> ? One : never;
type Delta = Extract<Part, { type: 'text-delta' | 'reasoning-delta' | 'tool-input-delta' }>;

/** Less than people notice. */
const shortestMs = 40;
/** The more answers stream at once, the larger the pieces in which each comes: so much longer for each of them. */
const perAnswerMs = 0.5;

/** Answers that stream in this process. */
let streaming = 0;

/**
 * The same model, whose answers come in larger pieces: each piece passes several streams of the library, which takes
 * longer than all that is done with it here.
 */
export async function gathered(language: LanguageModel): Promise<LanguageModel> {
  if (typeof language === 'string') return language;
  const { wrapLanguageModel } = await import('ai');
  const middleware: LanguageModelMiddleware = {
    wrapStream: async ({ doStream }) => {
      const { stream, ...rest } = await doStream();
      return { ...rest, stream: stream.pipeThrough(new TransformStream(new Gathering())) };
    },
  };
  return wrapLanguageModel({ model: language, middleware });
}

/** Joins deltas of one kind that come within a short time of each other. The first comes at once. */
class Gathering implements Transformer<Part, Part> {
  #held: Delta | undefined;
  #heldUntil = 0;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  start(): void {
    streaming += 1;
  }

  transform(part: Part, controller: TransformStreamDefaultController<Part>): void {
    const { type } = part;
    const isDelta = type === 'text-delta' || type === 'reasoning-delta' || type === 'tool-input-delta';
    // What a provider says about one delta belongs to that one.
    if (!isDelta || part.providerMetadata) {
      this.#release(controller);
      controller.enqueue(part);
      return;
    }
    if (this.#held?.type === type && this.#held.id === part.id) {
      this.#held.delta += part.delta;
      return;
    }
    this.#release(controller);
    this.#held = { ...part };
    const waitMs = this.#heldUntil - performance.now();
    if (waitMs <= 0) this.#release(controller);
    else this.#timer = setTimeout(() => this.#release(controller), waitMs);
  }

  flush(controller: TransformStreamDefaultController<Part>): void {
    this.#release(controller);
    this.#end();
  }

  cancel(): void {
    this.#end();
  }

  #release(controller: TransformStreamDefaultController<Part>): void {
    clearTimeout(this.#timer);
    const held = this.#held;
    this.#held = undefined;
    if (!held || this.#isOver) return;
    this.#heldUntil = performance.now() + Math.max(shortestMs, perAnswerMs * streaming);
    controller.enqueue(held);
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    streaming -= 1;
    clearTimeout(this.#timer);
    this.#held = undefined;
  }
}
