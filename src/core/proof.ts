/** `open`: not contained because the configuration says so. `unknown`: could not be tried, with the reason in `happened`. */
export type Verdict = 'held' | 'broken' | 'open' | 'unknown';

export interface ProofLine {
  /** Stays the same across versions. */
  check: string;
  /** A sentence. */
  tried: string;
  /** A sentence. May quote the sandbox: printable characters only, and not too many. */
  happened: string;
  verdict: Verdict;
}

/** Attacks tried from inside a sandbox, and their results. */
export interface Proof {
  provenAt: Date;
  /** False when any line is broken. */
  held: boolean;
  lines: readonly ProofLine[];
}
