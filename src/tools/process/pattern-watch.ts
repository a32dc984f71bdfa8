/** Reports come no faster than this, however often a pattern occurs. */
const maxReports = 5;
const withinMs = 10_000;
const maxLineLength = 2_000;

export interface PatternReport {
  pattern: string;
  /** The line it stands in, as far as it has come. */
  line: string;
  /** How many were left out before this one because there were too many. */
  suppressed: number;
}

/** Looks for texts in a stream that comes in pieces, line by line. */
export class PatternWatch {
  readonly #patterns: readonly string[];
  readonly #report: (report: PatternReport) => void;
  readonly #decoder = new TextDecoder();
  readonly #reportedAt: number[] = [];
  #line = '';
  /** Patterns that this line has been reported for. */
  #seen = new Set<string>();
  #suppressed = 0;

  constructor(patterns: readonly string[], report: (report: PatternReport) => void) {
    this.#patterns = patterns;
    this.#report = report;
  }

  push(data: Uint8Array): void {
    if (this.#patterns.length === 0) return;
    const [rest = '', ...lines] = this.#decoder.decode(data, { stream: true }).split('\n');
    this.#add(rest);
    for (const line of lines) {
      this.#line = '';
      this.#seen = new Set();
      this.#add(line);
    }
  }

  #add(text: string): void {
    this.#line += text;
    for (const pattern of this.#patterns) {
      if (this.#seen.has(pattern) || !this.#line.includes(pattern)) continue;
      this.#seen.add(pattern);
      this.#tell(pattern);
    }
    // The part that is cut off was searched already; a pattern may still begin in the part that is kept.
    if (this.#line.length > maxLineLength) this.#line = this.#line.slice(-maxLineLength);
  }

  #tell(pattern: string): void {
    const now = Date.now();
    while (this.#reportedAt[0] !== undefined && now - this.#reportedAt[0] > withinMs) this.#reportedAt.shift();
    if (this.#reportedAt.length >= maxReports) {
      this.#suppressed += 1;
      return;
    }
    this.#reportedAt.push(now);
    this.#report({ pattern, line: this.#line.slice(-maxLineLength), suppressed: this.#suppressed });
    this.#suppressed = 0;
  }
}
