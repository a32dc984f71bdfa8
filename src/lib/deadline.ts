/** Node fires a timer at once that is set for longer. */
const maxTimerMs = 2 ** 31 - 1;

export interface Deadline {
  /** undefined: no limit. */
  ms?: number | undefined;
  /** Ends the waiting before the time is over. */
  signal?: AbortSignal | undefined;
  /** false: the timer does not keep the program running. */
  ref?: boolean;
}

/**
 * Settles as `work` does, or as `late` when the deadline comes first. `late` may end the work, throw, or go on waiting for it; a rejection of the
 * work that comes later is ignored.
 */
export async function within<Result, Late>(
  deadline: number | Deadline,
  work: Promise<Result>,
  late: () => Late | PromiseLike<Late>,
): Promise<Result | Late> {
  const { ms, signal, ref = true } = typeof deadline === 'number' ? { ms: deadline } : deadline;
  const instead = Promise.withResolvers<Late>();
  let isLate = false;
  const onLate = (): void => {
    if (isLate) return;
    isLate = true;
    instead.resolve((async () => await late())());
  };
  const timer = ms === undefined ? undefined : setTimeout(onLate, Math.min(ms, maxTimerMs));
  if (!ref) timer?.unref();
  signal?.addEventListener('abort', onLate, { once: true });
  if (signal?.aborted) onLate();
  try {
    return await Promise.race([work, instead.promise]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onLate);
  }
}

/** Whether `work` resolves before the deadline; rejects when it rejects before. */
export async function settlesWithin(deadline: number | Deadline, work: Promise<unknown>): Promise<boolean> {
  return await within(
    deadline,
    work.then(() => true),
    () => false,
  );
}

/** Runs work with a signal that aborts at the deadline, for the reason that `late` makes or that of the deadline's own signal, and waits for it. */
export async function abortAfter<Result>(
  { ms, signal }: Omit<Deadline, 'ref'>,
  work: (signal: AbortSignal) => Promise<Result>,
  late?: () => unknown,
): Promise<Result> {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const working = work(controller.signal);
  return await within({ ms, signal }, working, () => {
    controller.abort(signal?.aborted ? signal.reason : late?.());
    return working;
  });
}
