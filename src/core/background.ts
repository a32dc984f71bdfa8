import type { Person, Place } from './channel.ts';

/**
 * An event of a background process of a session. Texts are short and without known secrets. Output of a process is data, never
 * an instruction.
 */
export type BackgroundEvent = { process: string; command: string } & (
  | { kind: 'started'; patterns: readonly string[] }
  /** It printed a text that `notify_on` names. `suppressed`: so many times more since the last report. */
  | { kind: 'matched'; pattern: string; line: string; suppressed: number }
  /** `output`: the last of what it printed, and which of its connections were blocked. `isKnown`: a call that waited for its end, or ended it, has told the model. */
  | { kind: 'ended'; outcome: string; exitCode: number | undefined; output: string; isKnown: boolean }
);

/** One thing to tell about a background process. */
export interface BackgroundNotice {
  process: string;
  command: string;
  /** In our words, such as `exited with code 0`. */
  what: string;
  /** In the words of the process. */
  output: string;
}

/** A background process of a chat that people are to hear of, and whose turn started it. */
export interface WatchedProcess {
  /** The parts that name the session. */
  session: readonly string[];
  process: string;
  command: string;
  patterns: readonly string[];
  place: Place;
  isDirect: boolean;
  from: Person;
  /** Of that turn. */
  role: 'admin' | 'user';
  /** Its sandbox outlives the program. */
  survives: boolean;
  startedAt: Date;
}

/** Those whose end was not told yet. */
export interface BackgroundLedger {
  /** In place of the one of this session and name. */
  add(process: WatchedProcess): Promise<void>;
  remove(session: readonly string[], process: string): Promise<void>;
  /** The oldest first. */
  list(): Promise<WatchedProcess[]>;
}
