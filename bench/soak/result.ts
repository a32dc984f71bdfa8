import type { LoopDelay } from './probe.ts';
import type { Held, Peaks } from './subject.ts';

/** What one lane found. */
export interface LaneResult {
  name: string;
  messages: number;
  /** Messages a second under full load. */
  rate: number;
  lost: number;
  doubled: number;
  /** Marked as a possible repeat. */
  repeated: number;
  peaks: Peaks;
  /** Undefined where the gateway was killed meanwhile. */
  steady: Steady | undefined;
  kills: number | undefined;
  notes: readonly string[];
}

export interface Steady {
  start: Held;
  /** After the first half, after the second half, and after everything, with sandboxes closed. */
  half: Held;
  full: Held;
  end: Held;
  secondHalf: number;
  saturated: LoopDelay;
  halfRate: { perSecond: number; loop: LoopDelay };
  /** Of the lane with tools. */
  calls: { before: Held; after: Held; plain: number; calls: number } | undefined;
}
