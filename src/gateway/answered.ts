export type Answered<T> = { kind: 'done'; value: T } | { kind: 'failed' | 'unanswered'; error: unknown };

/** `unanswered`: it was cut short by `stop` or by time, also when the work does not heed its signal; what it did nobody knows. */
export async function answered<T>(work: (signal: AbortSignal) => Promise<T>, stop: AbortSignal, withinMs: number): Promise<Answered<T>> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new Error(`no answer within ${Math.round(withinMs / 1000)} seconds`)), withinMs);
  const onStop = (): void => controller.abort(new Error('the program stopped before there was an answer'));
  stop.addEventListener('abort', onStop);
  if (stop.aborted) onStop();
  const { signal } = controller;
  const cut = new Promise<Answered<T>>((resolve) => {
    const end = (): void => resolve({ kind: 'unanswered', error: signal.reason });
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
  try {
    const attempt = (async () => await work(signal))().then(
      (value): Answered<T> => ({ kind: 'done', value }),
      (error: unknown): Answered<T> => ({ kind: signal.aborted ? 'unanswered' : 'failed', error }),
    );
    return await Promise.race([cut, attempt]);
  } finally {
    clearTimeout(timer);
    stop.removeEventListener('abort', onStop);
  }
}
