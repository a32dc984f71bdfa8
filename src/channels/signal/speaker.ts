import type { IncomingFile, Outgoing, OutgoingFile, Place } from '../../core/channel.ts';
import { HermeticError } from '../../core/errors.ts';
import { BoundedMap } from '../../lib/bounded-map.ts';
import { guessType } from '../../lib/file-type.ts';
import { CallError } from '../call-error.ts';
import { safeFileName } from '../file-name.ts';
import { ownName, type RecentMessages } from '../recent-messages.ts';
import type { CallOptions, Daemon } from './daemon.ts';
import { failureOf } from './failures.ts';
import { format } from './format.ts';
import { messageNamed, type Target, targetOf } from './ids.ts';
import { maxAnswerBytes, maxFileBytes } from './limits.ts';
import { fileNamed } from './parse.ts';
import type { Revisions } from './revisions.ts';
import type { Self } from './self.ts';

const uploadMs = 300_000;
/** A typing indicator is not worth waiting for. */
const politenessMs = 5000;
/** Of messages that may come back. */
const maxRemembered = 1000;

export interface SpeakerParts {
  daemon: Daemon;
  self: Self;
  revisions: Revisions;
  recent: RecentMessages;
}

/** Sends, edits and removes messages. */
export class Speaker {
  readonly #daemon: Daemon;
  readonly #self: Self;
  readonly #revisions: Revisions;
  readonly #recent: RecentMessages;
  readonly #sent = new BoundedMap<number, true>(maxRemembered);
  readonly #sending = new Set<Promise<unknown>>();

  constructor({ daemon, self, revisions, recent }: SpeakerParts) {
    this.#daemon = daemon;
    this.#self = self;
    this.#revisions = revisions;
    this.#recent = recent;
  }

  async send(place: Place, message: Outgoing, signal: AbortSignal | undefined): Promise<string> {
    const { file } = message;
    const attached = file ? { attachments: [dataAddress(file)] } : {};
    const params = { ...targetIn(place), ...this.#contentOf(message), ...attached };
    try {
      const id = String(await this.#tell(params, { signal, ...(file && { timeoutMs: uploadMs }) }));
      this.#recent.add(place.chat, id, { from: ownName, text: message.text });
      return id;
    } catch (error) {
      throw failureOf(error, false);
    }
  }

  async edit(place: Place, id: string, message: Outgoing, signal: AbortSignal | undefined): Promise<void> {
    const target = targetIn(place);
    if (!isOwnId(id)) throw new HermeticError('channel/refused', 'This is not a message of ours.');
    const edit = (editTimestamp: number): Promise<number> =>
      this.#tell({ ...target, ...this.#contentOf(message), editTimestamp }, { signal });
    try {
      await this.#revisions.change(id, message.text, edit, (error) => !(error instanceof CallError) || error.isDoubtful);
      this.#recent.add(place.chat, id, { from: ownName, text: message.text });
    } catch (error) {
      throw failureOf(error, false);
    }
  }

  async remove(place: Place, id: string, signal: AbortSignal | undefined): Promise<void> {
    const target = targetIn(place);
    if (!isOwnId(id)) throw new HermeticError('channel/refused', 'This is not a message of ours.');
    try {
      const targetTimestamp = await this.#revisions.latestOf(id);
      await this.#daemon.call('remoteDelete', { ...target, targetTimestamp }, { signal });
    } catch (error) {
      throw failureOf(error, true);
    }
  }

  async typing(place: Place): Promise<void> {
    const target = targetOf(place);
    if (target) await this.#daemon.call('sendTyping', target, { timeoutMs: politenessMs }).catch(() => undefined);
  }

  async fetchFile({ id, bytes }: IncomingFile, maxBytes: number): Promise<Buffer> {
    const max = Math.min(maxBytes, maxFileBytes);
    const tooLarge = (): HermeticError => new HermeticError('channel/refused', `The file is larger than ${max} bytes.`);
    if (bytes !== undefined && bytes > max) throw tooLarge();
    const found = fileNamed(id);
    const target = found && targetOf({ platform: 'signal', workspace: undefined, chat: found.chat, thread: undefined });
    if (!found || !target) throw new HermeticError('channel/refused', 'This is not a file of Signal.');
    const from = 'recipient' in target ? { recipient: target.recipient[0] } : target;
    try {
      const options = { timeoutMs: uploadMs, maxBytes: maxAnswerBytes };
      const result = (await this.#daemon.call('getAttachment', { id: found.id, ...from }, options)) as { data?: unknown } | null;
      const data = typeof result === 'string' ? result : result?.data;
      if (typeof data !== 'string') throw new CallError('the file cannot be had', { status: 404 });
      if (data.length > Math.ceil(max / 3) * 4) throw tooLarge();
      const file = Buffer.from(data, 'base64');
      if (file.length > max) throw tooLarge();
      return file;
    } catch (error) {
      throw failureOf(error, true);
    }
  }

  /** Whether a message of this time was sent here. */
  isOurs(timestamp: number): boolean {
    return this.#sent.has(timestamp);
  }

  /** Resolves when it is known under which times everything was sent that is being sent now. Never rejects. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#sending]);
  }

  /** Resolves with the time that names the message. */
  async #tell(params: Readonly<Record<string, unknown>>, options: CallOptions): Promise<number> {
    const telling = this.#daemon.call('send', params, options).then((result) => {
      const timestamp = (result as { timestamp?: unknown } | null)?.timestamp;
      if (typeof timestamp !== 'number' || !Number.isSafeInteger(timestamp)) {
        throw new CallError('the answer was not one of signal-cli', { isDoubtful: true });
      }
      this.#sent.set(timestamp, true);
      return timestamp;
    });
    this.#sending.add(telling);
    try {
      return await telling;
    } finally {
      this.#sending.delete(telling);
    }
  }

  #contentOf({ text, replyTo }: Outgoing): Readonly<Record<string, unknown>> {
    const formatted = format(text);
    const quoted = replyTo === undefined ? undefined : messageNamed(replyTo);
    return {
      message: formatted.text,
      ...(formatted.styles.length > 0 && { textStyle: formatted.styles }),
      ...(quoted && { quoteTimestamp: quoted.timestamp, quoteAuthor: quoted.author ?? this.#self.account }),
    };
  }
}

function targetIn(place: Place): Target {
  const target = targetOf(place);
  if (!target) throw new HermeticError('channel/refused', 'This is not a chat of Signal.');
  return target;
}

function isOwnId(id: string): boolean {
  return messageNamed(id) !== undefined && /^\d+$/.test(id);
}

/** Security: the daemon takes anything else for the path of a file on its machine. */
function dataAddress({ name, data }: OutgoingFile): string {
  const refuse = (reason: string): never => {
    throw new HermeticError('channel/refused', reason);
  };
  if (data.length > maxFileBytes) return refuse(`The file is larger than ${maxFileBytes} bytes.`);
  if (data.length === 0) return refuse('Signal takes no empty files.');
  const [type] = guessType(data).split(';');
  return `data:${type};filename=${encodeURIComponent(safeFileName(name))};base64,${Buffer.from(data).toString('base64')}`;
}
