import { afterEach, beforeEach } from 'vitest';
import type { Channel, Incoming, IncomingMessage, Place } from '../../src/core/channel.ts';
import { until } from '../until.ts';

export interface SaidByUser {
  text: string;
  /** What whoever says it is called. */
  name?: string;
  /** Says our name in it, as the platform marks that. */
  mentionsUs?: boolean;
  repliesTo?: string;
  file?: { name: string; data: Uint8Array };
}

/** A message of ours, as its readers see it. */
export interface Shown {
  id: string;
  text: string;
  /** Every text it had. */
  versions: readonly string[];
  buttons: readonly { label: string; data: string }[];
  replyTo: string | undefined;
  file: { name: string; data: Uint8Array } | undefined;
}

/** How sending fails: passing, with a time to wait, for good, or without a word. */
export type SendFailure = 'busy' | { retryAfterSeconds: number } | 'refused' | 'cut';

/** A platform on this machine that a channel cannot tell from the real one. */
export interface ChannelHarness {
  /** A channel of the same account, as a program has it that was just started. */
  create(): Channel;
  createWithWrongToken(): Channel;
  /** What may appear nowhere. */
  readonly secret: string;
  /** What the channels logged. */
  readonly log: readonly string[];
  /** Two chats with one person each, one with many, and a thread where the platform has them. */
  readonly direct: Place;
  readonly otherDirect: Place;
  readonly group: Place;
  /** false where every chat is one with one person: then `group` is such a chat. */
  readonly hasGroups?: boolean;
  readonly thread: Place | undefined;
  /** Why halves of characters cannot be sent there. */
  readonly wellFormedOnly?: string;
  /** false where a message cannot be shown as the reply to another one. */
  readonly hasReplies?: boolean;
  /** The id it has at the platform. */
  userSays(place: Place, said: SaidByUser): string;
  /** Our own words come back, or those of another program. */
  botSays(place: Place, text: string): void;
  userPresses(place: Place, message: string, data: string): void;
  shown(place: Place): readonly Shown[];
  typingShown(place: Place): number;
  noticesShown(): readonly (string | undefined)[];
  /** Why the platform delivers nothing again that it has handed over; undefined when it does until that is confirmed. */
  readonly withoutRedelivery?: string;
  /** Why the platform keeps no order in what it delivers again; undefined when it does. */
  readonly withoutOrder?: string;
  /** How much the platform would deliver again. */
  unconfirmed(): number;
  /** Delivers what was delivered last once more. */
  deliverAgain(): void;
  failSend(failure: SendFailure): void;
  failEdit(failure: SendFailure): void;
  failFetch(failure: SendFailure): void;
  /** The platform cannot be reached. */
  goDown(): Promise<void>;
  comeUp(): Promise<void>;
  close(): Promise<void>;
}

export class Accepted {
  readonly all: Incoming[] = [];
  /** Awaited before anything counts as accepted. */
  hold: ((incoming: Incoming) => Promise<void>) | undefined;

  readonly accept = async (incoming: Incoming): Promise<void> => {
    await this.hold?.(incoming);
    this.all.push(incoming);
  };

  get messages(): IncomingMessage[] {
    return this.all.filter((one) => one.kind === 'message');
  }

  get texts(): string[] {
    return this.messages.map(({ text }) => text);
  }

  async message(matches: (message: IncomingMessage) => boolean = () => true): Promise<IncomingMessage> {
    return await until('a message is accepted', () => this.messages.find(matches));
  }
}

export interface ChannelRig {
  readonly harness: ChannelHarness;
  readonly channel: Channel;
  readonly accepted: Accepted;
  /** Another channel of the same account, stopped at the end. */
  create(): Channel;
  start(): Promise<void>;
}

/** A platform and a channel for each test. */
export function channelRig(newHarness: () => Promise<ChannelHarness>): ChannelRig {
  let harness: ChannelHarness;
  let channel: Channel;
  let accepted: Accepted;
  let created: Channel[];
  const create = (): Channel => {
    const another = harness.create();
    created.push(another);
    return another;
  };
  beforeEach(async () => {
    harness = await newHarness();
    created = [];
    accepted = new Accepted();
    channel = create();
  });
  afterEach(async () => {
    await Promise.all(created.map((one) => one.stop()));
    await harness.close();
  });
  return {
    get harness() {
      return harness;
    },
    get channel() {
      return channel;
    },
    get accepted() {
      return accepted;
    },
    create,
    start: () => channel.start(accepted.accept),
  };
}

/** Everything an error says, to whoever looks into it. */
export function everythingIn(error: unknown): string {
  const parts: string[] = [];
  for (let one = error, depth = 0; one !== undefined && one !== null && depth < 10; depth += 1) {
    parts.push(String(one), JSON.stringify(one, Object.getOwnPropertyNames(one)));
    one = (one as { cause?: unknown }).cause;
  }
  return parts.join('\n');
}
