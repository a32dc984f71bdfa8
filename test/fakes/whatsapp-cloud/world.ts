import { createHash } from 'node:crypto';

export interface FakePerson {
  /** The number, or the id of somebody who hides it. */
  id: string;
  name: string;
}

export const ada: FakePerson = { id: '491701234567', name: 'Ada' };
export const bob: FakePerson = { id: '16505551234', name: 'Bob' };
export const business = { id: '106540352242922', number: '+1 555-078-3881', digits: '15550783881', name: 'Hermetic Test' };

export interface FakeFile {
  name: string;
  type: string;
  data: Uint8Array;
}

/** A message of ours. */
export interface SentMessage {
  id: string;
  to: string;
  /** As it arrived. */
  body: Record<string, unknown>;
  text: string;
  buttons: { label: string; data: string }[];
  replyTo: string | undefined;
  file: FakeFile | undefined;
}

/** Something that Meta delivers until it is told that it arrived. */
export interface Waiting {
  chat: string;
  change: { field: string; value: Record<string, unknown> };
}

export interface Said {
  from?: FakePerson;
  text?: string;
  replyTo?: string;
  file?: { name: string; data: Uint8Array; type?: string };
  /** Parts of the message as it is delivered. */
  more?: Record<string, unknown>;
}

/** Who says what. */
export class WhatsAppWorld {
  readonly sent: SentMessage[] = [];
  /** In whose chat we were shown typing. */
  readonly typing: string[] = [];
  readonly files = new Map<string, FakeFile>();
  /** Ids of messages of people, with their chats. */
  readonly received = new Map<string, string>();
  /** Ids of presses. */
  readonly presses = new Set<string>();
  readonly #deliver: (waiting: Waiting) => void;
  #count = 0;

  constructor(deliver: (waiting: Waiting) => void) {
    this.#deliver = deliver;
  }

  nextId(): string {
    this.#count += 1;
    return `wamid.${Buffer.from(`message ${this.#count} ${'x'.repeat(10)}`).toString('base64')}`;
  }

  says({ from = ada, text = '', replyTo, file, more = {} }: Said): string {
    const content = file ? this.#fileContent(file, text) : { type: 'text', text: { body: text } };
    const quoted = this.sent.find(({ id }) => id === replyTo) ? business.digits : from.id;
    return this.deliver(from, { ...content, ...(replyTo !== undefined && { context: { from: quoted, id: replyTo } }), ...more });
  }

  chooses(from: FakePerson, message: string, data: string): string {
    const shown = this.sent.find(({ id }) => id === message);
    const title = shown?.buttons.find((button) => button.data === data)?.label ?? '';
    const type = (shown?.body.interactive as { type?: string } | undefined)?.type === 'list' ? 'list_reply' : 'button_reply';
    const id = this.deliver(from, {
      type: 'interactive',
      interactive: { type, [type]: { id: data, title } },
      context: { from: business.digits, id: message },
    });
    this.presses.add(id);
    return id;
  }

  reacts(from: FakePerson, message: string, emoji: string | undefined): string {
    return this.deliver(from, { type: 'reaction', reaction: { message_id: message, ...(emoji !== undefined && { emoji }) } });
  }

  /** A message of a person, as Meta delivers it. */
  deliver({ id, name }: FakePerson, content: Record<string, unknown>): string {
    const message = this.nextId();
    this.received.set(message, id);
    const timestamp = String(Math.floor(Date.now() / 1000));
    const isHidden = !/^\d+$/.test(id);
    const author = isHidden ? { from_user_id: id } : { from: id };
    const contact = { profile: { name }, ...(isHidden ? { user_id: id } : { wa_id: id }) };
    this.push(id, { contacts: [contact], messages: [{ ...author, id: message, timestamp, ...content }] });
    return message;
  }

  /** What one of our people with the app on a phone says. */
  echoes(to: FakePerson, text: string): void {
    const echo = { from: business.digits, to: to.id, id: this.nextId(), timestamp: '1', type: 'text', text: { body: text } };
    this.push(to.id, { message_echoes: [echo] }, 'smb_message_echoes');
    this.push(to.id, { messages: [{ ...echo, id: this.nextId() }] });
  }

  push(chat: string, value: Record<string, unknown>, field = 'messages', phoneNumberId = business.id): void {
    const metadata = { display_phone_number: business.digits, phone_number_id: phoneNumberId };
    this.#deliver({ chat, change: { field, value: { messaging_product: 'whatsapp', metadata, ...value } } });
  }

  #fileContent({ name, data, type = 'application/octet-stream' }: NonNullable<Said['file']>, caption: string): Record<string, unknown> {
    const id = this.keep({ name, type, data });
    const sha256 = createHash('sha256').update(data).digest('base64');
    return { type: 'document', document: { ...(caption !== '' && { caption }), filename: name, mime_type: type, sha256, id } };
  }

  keep(file: FakeFile): string {
    this.#count += 1;
    const id = String(2_000_000_000 + this.#count);
    this.files.set(id, file);
    return id;
  }
}
