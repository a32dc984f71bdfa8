/** A file as it was sent. */
export interface FakeFile {
  name: string | undefined;
  data: Uint8Array;
}

export interface FakePerson {
  uuid: string;
  /** Undefined: they hide it. */
  number: string | undefined;
  name: string;
}

/** A message of our account, as the people see it who got it. */
export interface SentMessage {
  chat: string;
  /** By which apps know it: the first is its id, the last one is to be named by an edit. */
  timestamps: number[];
  /** Every text it had. */
  versions: string[];
  styles: string[];
  quote: { author: string; timestamp: number } | undefined;
  file: FakeFile | undefined;
}

export interface Said {
  from?: FakePerson;
  /** undefined: to us alone. */
  group?: string;
  text?: string | null;
  mentions?: readonly { of: FakePerson; start: number; length?: number }[];
  quote?: { author: FakePerson; timestamp: number; text: string };
  files?: readonly FakeFile[];
  /** Anything else of the message, over what is made of the rest. */
  more?: Record<string, unknown>;
  /** Anything else of the envelope. */
  envelope?: Record<string, unknown>;
}

export const us: FakePerson = { uuid: '11111111-aaaa-4aaa-8aaa-111111111111', number: '+15550000001', name: 'Hermetic' };
export const ada: FakePerson = { uuid: '22222222-bbbb-4bbb-8bbb-222222222222', number: '+15550000002', name: 'Ada' };
export const bob: FakePerson = { uuid: '33333333-cccc-4ccc-8ccc-333333333333', number: undefined, name: 'Bob' };
export const team = 'dGhlIGdyb3VwIG9mIHRoZSB0ZWFtLCAzMiBieXRlcyE=';

const maxEdits = 10;

/** Signal, as one account sees it through signal-cli, apart from how that is asked. */
export class SignalWorld {
  readonly sent: SentMessage[] = [];
  readonly typing: string[] = [];
  readonly files = new Map<string, Uint8Array>();
  /** Edits that the apps of people ignored without a word. */
  readonly ignoredEdits: { timestamp: number; text: string }[] = [];
  /** What we send to ourselves comes back, as if another device had sent it. */
  echoes = false;
  readonly #deliver: (event: unknown) => void;
  readonly #texts = new Map<string, { text: string; author: FakePerson }>();
  #last: unknown;
  #time = 0;

  constructor(deliver: (event: unknown) => void) {
    this.#deliver = deliver;
  }

  /** Two messages of one person never have the same time. */
  now(): number {
    this.#time = Math.max(this.#time + 1, Date.now());
    return this.#time;
  }

  /** Somebody writes. Returns the time that names the message. */
  says(said: Said): number {
    const { from = ada } = said;
    const timestamp = this.now();
    this.#texts.set(`${from.uuid}:${timestamp}`, { text: said.text ?? '', author: from });
    this.deliver({ ...envelopeOf(from, timestamp), dataMessage: this.#dataOf(said, timestamp), ...said.envelope });
    return timestamp;
  }

  /** Another device of our own account writes. */
  weSay(said: Omit<Said, 'from'> & { to?: FakePerson }): number {
    const { to, envelope } = said;
    const timestamp = this.now();
    this.deliver({
      ...envelopeOf(us, timestamp),
      syncMessage: {
        sentMessage: {
          destination: to?.number ?? to?.uuid ?? null,
          destinationNumber: to?.number ?? null,
          destinationUuid: to?.uuid ?? null,
          ...this.#dataOf(said, timestamp),
        },
      },
      ...envelope,
    });
    return timestamp;
  }

  reacts(
    emoji: string,
    to: { author: FakePerson; timestamp: number },
    { from = ada, group, isRemove = false }: ReactionOptions = {},
  ): void {
    const { uuid, number } = to.author;
    const reaction = {
      emoji,
      targetAuthor: number ?? uuid,
      targetAuthorNumber: number ?? null,
      targetAuthorUuid: uuid,
      targetSentTimestamp: to.timestamp,
      isRemove,
    };
    this.says({ from, ...(group !== undefined && { group }), text: null, more: { reaction } });
  }

  deliver(envelope: Record<string, unknown>): void {
    this.#last = { envelope, account: us.number };
    this.#deliver(this.#last);
  }

  deliverAgain(): void {
    this.#deliver(this.#last);
  }

  textOf(id: string): { text: string; author: FakePerson } | undefined {
    const ours = this.sent.find(({ timestamps }) => String(timestamps[0]) === id);
    return ours ? { text: ours.versions.at(-1) ?? '', author: us } : this.#texts.get(id);
  }

  send(message: Omit<SentMessage, 'timestamps' | 'versions'> & { text: string }): number {
    const { text, ...rest } = message;
    const timestamp = this.now();
    this.sent.push({ ...rest, timestamps: [timestamp], versions: [text] });
    if (this.echoes && message.chat === us.uuid) this.#echo(timestamp, text);
    return timestamp;
  }

  /** As apps take an edit: of the latest form of a message, and not too often. */
  edit(target: number, text: string, styles: string[]): number {
    const timestamp = this.now();
    const message = this.sent.find(({ timestamps }) => timestamps.at(-1) === target);
    if (!message || message.timestamps.length > maxEdits) this.ignoredEdits.push({ timestamp: target, text });
    else {
      message.timestamps.push(timestamp);
      if (message.versions.at(-1) !== text) message.versions.push(text);
      message.styles = styles;
    }
    return timestamp;
  }

  remove(target: number): void {
    const index = this.sent.findIndex(({ timestamps }) => timestamps.includes(target));
    if (index !== -1) this.sent.splice(index, 1);
  }

  #echo(timestamp: number, message: string): void {
    const destination = { destination: us.number, destinationNumber: us.number, destinationUuid: us.uuid };
    this.deliver({ ...envelopeOf(us, timestamp), syncMessage: { sentMessage: { ...destination, timestamp, message } } });
  }

  #dataOf({ group, text = '', mentions = [], quote, files = [], more }: Said, timestamp: number): Record<string, unknown> {
    return {
      timestamp,
      message: text,
      expiresInSeconds: 0,
      viewOnce: false,
      ...(mentions.length > 0 && {
        mentions: mentions.map(({ of, start, length = 1 }) => ({
          name: of.number ?? of.uuid,
          number: of.number ?? null,
          uuid: of.uuid,
          start,
          length,
        })),
      }),
      ...(files.length > 0 && { attachments: files.map((file) => this.#attachment(file)) }),
      ...(quote && {
        quote: {
          id: quote.timestamp,
          author: quote.author.number ?? quote.author.uuid,
          authorNumber: quote.author.number ?? null,
          authorUuid: quote.author.uuid,
          text: quote.text,
          attachments: [],
        },
      }),
      ...(group !== undefined && { groupInfo: { groupId: group, groupName: 'Team', revision: 1, type: 'DELIVER' } }),
      ...more,
    };
  }

  #attachment({ name, data }: FakeFile): Record<string, unknown> {
    const id = `${this.now().toString(36)}AbC_-.bin`;
    this.files.set(id, data);
    return {
      contentType: 'application/octet-stream',
      filename: name ?? null,
      id,
      size: data.length,
      width: null,
      height: null,
      caption: null,
    };
  }
}

interface ReactionOptions {
  from?: FakePerson;
  group?: string;
  isRemove?: boolean;
}

export function envelopeOf({ uuid, number, name }: FakePerson, timestamp: number): Record<string, unknown> {
  return {
    source: number ?? uuid,
    sourceNumber: number ?? null,
    sourceUuid: uuid,
    sourceName: name,
    sourceDevice: 1,
    timestamp,
    serverReceivedTimestamp: timestamp + 5,
    serverDeliveredTimestamp: timestamp + 6,
  };
}
