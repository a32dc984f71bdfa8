import { HermeticError } from './errors.ts';

/** After so many tries something that fails is not tried again. */
export const maxTries = 5;
/** And after so many that the program did not live to see the end of: most programs that end have another reason. */
export const maxEnds = 10;

/** Something that arrived and could not be handled. It is kept as it arrived, and not tried again. */
export interface SetAside {
  /** `inbox` for a message that was stored; else the platform that delivered what could not be read. */
  source: string;
  /** Of the inbox its number; of a platform what it calls the delivery. */
  id: string;
  /** The parts that name the session; none when it is not known. */
  session: readonly string[];
  /** One sentence. */
  reason: string;
  /** The message or update, as text. */
  content: string;
  tries: number;
  at: Date;
}

/** Messages that failed again and again, and the number of attempts for those in work. */
export interface SetAsideLedger {
  /**
   * Counts a try of each before it is made, so that one that ends the program is counted too, and forgets what of this source is neither among them
   * nor `open`; with `all`, because it is not known yet what is open, nothing. Resolves with how often each was tried before; undefined for one that
   * was set aside.
   */
  trying(source: string, ids: readonly string[], open: readonly string[] | 'all'): Promise<ReadonlyMap<string, number | undefined>>;
  /** On disk when it resolves. Once, however often it is added; an entry of the inbox is out of line from then on. */
  add(entry: SetAside): Promise<void>;
  /** The oldest first. */
  list(): Promise<SetAside[]>;
  prune(before: Date, signal?: AbortSignal): Promise<void>;
}

/** For a channel: what it could not read, or the gateway not take. */
export interface Deliveries {
  trying(ids: readonly string[], open: readonly string[] | 'all'): Promise<ReadonlyMap<string, number | undefined>>;
  /** On disk when it resolves; then the platform may be told that it arrived. */
  setAside(delivery: Pick<SetAside, 'id' | 'reason' | 'content' | 'tries'>): Promise<void>;
}

/** Whether the store is at fault, and not what was to be stored or read: then it is tried for as long as it takes. */
export function isStoreFault(error: unknown): boolean {
  return error instanceof HermeticError && (error.code === 'store/busy' || error.code === 'store/failed');
}
