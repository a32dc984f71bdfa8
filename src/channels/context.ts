import type { ChannelNotes } from '../core/channel-notes.ts';
import type { Deliveries } from '../core/set-aside.ts';

/** Passed to every channel when it is created. */
export interface ChannelContext {
  /** What the variable holds that one of the driver's `secrets` names. It appears in no error and in no line of the log. */
  secret(option: string): string;
  /** The chat commands, for a platform that has a menu of them. */
  commands?: readonly { name: string; usage?: string; help: string }[] | undefined;
  /** Where what cannot be read is kept; undefined where nothing is listened to. */
  deliveries?: Deliveries | undefined;
  /** Kept for the next program; undefined where nothing is listened to. */
  notes?: ChannelNotes | undefined;
  /** Writes one sentence to the gateway's log. */
  log: (sentence: string) => void;
}
