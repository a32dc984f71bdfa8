import type { Deliveries } from '../core/set-aside.ts';

/** What every channel is made with. */
export interface ChannelContext {
  /** Secret: it appears in no error and in no line of the log. */
  token: string;
  /** A server to talk to instead of the platform's own. */
  apiRoot: string | undefined;
  /** What can be asked of us, for a platform that has a menu of commands. */
  commands?: readonly { name: string; help: string }[] | undefined;
  /** Where what cannot be read is kept; undefined where nothing is listened to. */
  deliveries?: Deliveries | undefined;
  /** One sentence for whoever runs this. */
  log: (sentence: string) => void;
}
