export interface Backoff {
  /** After the first failure; after every further one twice as long. */
  firstMs: number;
  maxMs: number;
  /** Takes up to half of it away by chance, so that many that failed together do not come back together. */
  isSpread?: boolean;
}

/** How long to wait after so many failures in a row, 1 or more. */
export function backoffMs(failures: number, { firstMs, maxMs, isSpread = false }: Backoff): number {
  const ms = Math.min(maxMs, firstMs * 2 ** (failures - 1));
  return isSpread ? Math.round(ms * (0.5 + Math.random() / 2)) : ms;
}
