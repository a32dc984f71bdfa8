import { within } from './deadline.ts';

export type Answered<T> = { kind: 'done'; value: T } | { kind: 'failed' | 'unanswered'; error: unknown };

/** `unanswered`: it was cut short by `stop` or by time, also when the work does not heed its signal; its effect is unknown. */
export async function answered<T>(work: (signal: AbortSignal) => Promise<T>, stop: AbortSignal, withinMs: number): Promise<Answered<T>> {
  const controller = new AbortController();
  const cutShort = (): Answered<T> => {
    const reason = stop.aborted
      ? 'the program stopped before there was an answer'
      : `no answer within ${Math.round(withinMs / 1000)} seconds`;
    const error = new Error(reason);
    controller.abort(error);
    return { kind: 'unanswered', error };
  };
  if (stop.aborted) return cutShort();
  const attempt = (async () => await work(controller.signal))().then(
    (value): Answered<T> => ({ kind: 'done', value }),
    (error: unknown): Answered<T> => ({ kind: controller.signal.aborted ? 'unanswered' : 'failed', error }),
  );
  return await within({ ms: withinMs, signal: stop }, attempt, cutShort);
}
