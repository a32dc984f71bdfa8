import { EventEmitter } from 'node:events';
import { within } from '../../lib/deadline.ts';
import { CallError } from '../call-error.ts';
import type { Baileys, BaileysSocket, ConnectionUpdate, Credentials, KeyStore, WireNode } from './baileys.ts';
import { Encryption, type EncryptionParts } from './encryption.ts';
import { statuses, statusOf } from './failures.ts';
import { quietly, silentLogger } from './quiet.ts';

const whatsappAddress = 'wss://web.whatsapp.com/ws/chat';
/** WhatsApp lists the device as Chrome on Ubuntu. It gives no code to link to one that it does not know. */
const browser = ['Ubuntu', 'Chrome', '22.04.4'] as const;
const connectMs = 20_000;
const queryMs = 30_000;
/** From the beginning to a working connection, or to a code for linking. */
const openingMs = 60_000;
const closingMs = 1_000;
const groupFactsMs = 5 * 60_000;

export interface WireParts {
  baileys: Baileys;
  credentials: Credentials;
  keys: KeyStore;
  /** undefined: WhatsApp's own. */
  apiRoot: string | undefined;
  encryption: Omit<EncryptionParts, 'make'>;
  onOpen(): void;
  onQr(qr: string): void;
  /** The credentials changed. */
  onCredentials(): void;
}

/** One connection to WhatsApp. */
export class Wire {
  readonly socket: BaileysSocket;
  readonly #ended = Promise.withResolvers<number | undefined>();
  readonly #over = new AbortController();
  readonly #acknowledgements = new Map<string, (node: WireNode | undefined) => void>();
  readonly #groups = new Map<string, { facts: unknown; at: number }>();
  readonly #timer: NodeJS.Timeout;
  #isSaid = false;
  isOpen = false;

  constructor(parts: WireParts) {
    const { baileys, credentials, keys } = parts;
    const encryption = new Encryption({ ...parts.encryption, make: baileys.DEFAULT_CONNECTION_CONFIG.makeSignalRepository });
    this.socket = guarded(() =>
      baileys.makeWASocket({
        waWebSocketUrl: addressOf(parts.apiRoot),
        auth: { creds: credentials, keys },
        logger: silentLogger,
        browser,
        connectTimeoutMs: connectMs,
        defaultQueryTimeoutMs: queryMs,
        emitOwnEvents: false,
        // The phone goes on ringing.
        markOnlineOnConnect: false,
        syncFullHistory: false,
        // What was said before the account was linked is none of our business.
        shouldSyncHistoryMessage: () => false,
        makeSignalRepository: encryption.makeRepository,
        cachedGroupMetadata: (jid: string) => this.#groupFacts(jid),
      }),
    );
    const { ev, ws } = this.socket;
    ws.prependListener('CB:message', (node) => encryption.expect(node));
    // Security: only what WhatsApp says itself counts as a reason. A proxy may answer anything in its place, and must not make us forget the account.
    for (const event of ['CB:failure', 'CB:stream:error']) {
      ws.prependListener(event, () => {
        this.#isSaid = true;
      });
    }
    ws.on('CB:ack,class:message', (node) => this.#acknowledgements.get(node.attrs.id ?? '')?.(node));
    // Baileys would wait for what never comes.
    ws.on('unexpected-response', () => this.#cut());
    // Security: an event without a listener for its failure would end the program.
    ev.on('error', () => this.#cut());
    ev.on('creds.update', () => parts.onCredentials());
    ev.on('groups.update', () => this.#groups.clear());
    ev.on('group-participants.update', () => this.#groups.clear());
    ev.on('connection.update', (update) => this.#update(update, parts));
    this.#timer = setTimeout(() => this.#cut(), openingMs);
  }

  /** Resolves with the number that WhatsApp gave as the reason; undefined when the connection just ended. */
  get ended(): Promise<number | undefined> {
    return this.#ended.promise;
  }

  /** Resolves when WhatsApp has taken the message. Rejects with `CallError`, which is doubtful when it may have. */
  async relay(jid: string, message: object, id: string, attributes?: Readonly<Record<string, string>>): Promise<void> {
    const answer = Promise.withResolvers<WireNode | undefined>();
    const late = setTimeout(() => answer.resolve(undefined), queryMs);
    this.#acknowledgements.set(id, answer.resolve);
    try {
      const options = { messageId: id, ...(attributes && { additionalAttributes: attributes }) };
      await this.#during(quietly(() => this.socket.relayMessage(jid, message, options)));
      const node = await answer.promise;
      if (!node) throw new CallError('no answer in time', { isDoubtful: true });
      refuseError(node);
    } finally {
      clearTimeout(late);
      this.#acknowledgements.delete(id);
    }
  }

  /** Runs a call of Baileys. Rejects with `CallError`: then WhatsApp was not told. */
  async ask<Result>(call: (socket: BaileysSocket) => Promise<Result>): Promise<Result> {
    return await this.#during(quietly(() => call(this.socket)));
  }

  /** Resolves when it has ended. The account stays linked. */
  async close(): Promise<void> {
    this.socket.ws.socket?.close();
    const timer = setTimeout(() => this.#cut(), closingMs);
    await this.ended;
    clearTimeout(timer);
  }

  /** What waits for an answer when the connection ends would wait for its whole time. */
  async #during<Result>(work: Promise<Result>): Promise<Result> {
    try {
      return await within({ signal: this.#over.signal }, work, () => {
        throw new CallError('the connection ended');
      });
    } catch (error) {
      throw error instanceof CallError ? error : new CallError('it could not be sent', { status: clientFault(error) });
    }
  }

  #update({ connection, qr, lastDisconnect }: ConnectionUpdate, parts: WireParts): void {
    if (qr !== undefined) {
      clearTimeout(this.#timer);
      parts.onQr(qr);
    }
    if (connection === 'open') {
      clearTimeout(this.#timer);
      this.isOpen = true;
      parts.onOpen();
    } else if (connection === 'close') {
      clearTimeout(this.#timer);
      this.isOpen = false;
      this.#over.abort();
      const status = statusOf(lastDisconnect?.error);
      this.#ended.resolve(this.#isSaid || status === statuses.timedOut ? status : undefined);
      for (const answer of this.#acknowledgements.values()) answer(undefined);
    }
  }

  #cut(): void {
    this.socket.ws.socket?.terminate();
  }

  /** Asked for with every message to a group; an edit every two seconds must not ask for it each time. */
  async #groupFacts(jid: string): Promise<unknown> {
    const known = this.#groups.get(jid);
    if (known && Date.now() - known.at < groupFactsMs) return known.facts;
    const facts = await this.socket.groupMetadata(jid);
    this.#groups.set(jid, { facts, at: Date.now() });
    return facts;
  }
}

/** Security: Baileys has listeners that reject, for example when a connection ends. These failures end the connection and not the program. */
function guarded(make: () => BaileysSocket): BaileysSocket {
  const before = EventEmitter.captureRejections;
  EventEmitter.captureRejections = true;
  try {
    return quietly(make);
  } finally {
    EventEmitter.captureRejections = before;
  }
}

function addressOf(apiRoot: string | undefined): string {
  if (apiRoot === undefined) return whatsappAddress;
  return `${apiRoot.replace(/^http/, 'ws').replace(/\/+$/, '')}/ws/chat`;
}

function refuseError({ attrs }: WireNode): void {
  const { error, backoff } = attrs;
  if (error === undefined) return;
  const status = /^\d{3}$/.test(error) ? Number(error) : 500;
  const retryAfterMs = /^\d{1,6}$/.test(backoff ?? '') ? Number(backoff) * 1000 : undefined;
  throw new CallError('it was not taken', { status, retryAfterMs });
}

/** What WhatsApp says to a question, such as about a group that we are not in. */
function clientFault(error: unknown): number | undefined {
  const data = (error as { data?: unknown } | undefined)?.data;
  return typeof data === 'number' && data >= 400 && data < 500 ? data : undefined;
}
