import type { IncomingMessage, ServerResponse } from 'node:http';
import { type BinaryNode, decodeBinaryNode, encodeBinaryNode, type proto } from 'baileys';
import { type WebSocket, WebSocketServer } from 'ws';
import { Lane } from '../../../src/lib/lanes.ts';
import { loopbackHttp } from '../loopback-server.ts';
import { answerTo } from './answers.ts';
import { ServerNoise } from './noise.ts';
import { pairSuccess } from './pairing.ts';
import { type Bundle, type Ciphertext, FakePerson } from './person.ts';

export const group = '120363000000000001@g.us';
const device = 1;

/** How the next request of a kind fails. */
export type Failure = { error: number; backoff?: number } | { cut: 'before' | 'after' } | { answered: Promise<void> };

/** A message of the bot, decrypted as its readers do. */
export interface Sent {
  id: string;
  /** To whom, as it was addressed. */
  to: string;
  message: proto.IMessage;
  attrs: Readonly<Record<string, string>>;
}

interface SaidTo {
  chat?: string | undefined;
  name?: string;
  /** What WhatsApp says of it instead of what it would. */
  address?: Record<string, string>;
}

interface Delivered {
  attrs: Record<string, string>;
  content: readonly Ciphertext[];
}

interface Client {
  socket: WebSocket;
  noise: ServerNoise;
  isLoggedIn: boolean;
  lane: Lane;
}

/** WhatsApp on this machine: the handshake, the stanzas and the encryption are those of the real one. */
export class FakeWhatsApp {
  readonly ada = new FakePerson('491700000001', '900000000000001', 'Ada');
  readonly bob = new FakePerson('491700000002', '900000000000002', 'Bob');
  /** The phone of the account that the bot is linked to. */
  readonly phone = new FakePerson('491700000009', '900000000000009', 'Bot');
  readonly people: readonly FakePerson[] = [this.ada, this.bob, this.phone];
  readonly sent: Sent[] = [];
  readonly typing: string[] = [];
  /** Connections that were logged in, and why others were not. */
  logins = 0;
  readonly refs = ['2@first', '2@second', '2@third'];
  /** By the id of a message: delivered, and not confirmed. */
  readonly unconfirmed = new Map<string, Delivered>();
  readonly files = new Map<string, Buffer>();
  /** What arrives waits until `deliverHeld`, as in a slow network. */
  #isHeld = false;
  /** Why messages of the bot could not be read by those to whom they were written. */
  readonly unreadable: string[] = [];
  /** Answers to what was delivered, in their order. */
  readonly receipts: BinaryNode[] = [];
  #failures: { send: Failure[]; edit: Failure[]; fetch: Failure[] } = { send: [], edit: [], fetch: [] };
  /** Of the device that is linked. */
  #linked: { bundle: Bundle; noiseKey: Buffer } | undefined;
  #registering: { client: Client; bundle: Bundle; noiseKey: Buffer } | undefined;
  /** Questions for a code to link with. */
  readonly pairingRequests: BinaryNode[] = [];
  logouts = 0;
  /** What a proxy says instead of letting a connection through. */
  upgradeRefusal: number | undefined;
  /** What logging in is answered with, instead of a success. */
  refusal: BinaryNode | undefined;
  readonly #clients = new Set<Client>();
  readonly #outside = new Lane();
  readonly #http = loopbackHttp((request, response) => this.#serveFile(request, response));
  readonly #sockets = new WebSocketServer({ noServer: true });

  static async start(): Promise<FakeWhatsApp> {
    const server = new FakeWhatsApp();
    server.#http.server.on('upgrade', (request, socket, head) => {
      if (server.upgradeRefusal !== undefined) {
        socket.end(`HTTP/1.1 ${server.upgradeRefusal} No\r\nconnection: close\r\n\r\n`);
        return;
      }
      server.#sockets.handleUpgrade(request, socket, head, (ws) => server.#connected(ws));
    });
    await server.comeUp();
    return server;
  }

  get root(): string {
    return this.#http.origin;
  }

  get deviceJid(): string {
    return `${this.phone.phone}:${device}@s.whatsapp.net`;
  }

  get deviceLid(): string {
    return `${this.phone.lid}:${device}@lid`;
  }

  get isWaitingForScan(): boolean {
    return this.#registering !== undefined;
  }

  /** The device is known, as after an earlier scan. */
  link(bundle: Bundle, noiseKey: Uint8Array): void {
    this.#linked = { bundle, noiseKey: Buffer.from(noiseKey) };
  }

  /** The owner scans a QR code with their phone. */
  scan(qr: string): void {
    const [, , , secret = ''] = qr.split(',');
    const registering = this.#registering;
    if (!registering) throw new Error('nothing waits for a scan');
    const { client, bundle, noiseKey } = registering;
    this.link(bundle, noiseKey);
    this.#send(client, pairSuccess(this.phone.creds, bundle.identity, secret, this.deviceJid, this.deviceLid));
  }

  fail(kind: 'send' | 'edit' | 'fetch', failure: Failure): void {
    this.#failures[kind].push(failure);
  }

  /** Ends the streams of everybody, with a reason. */
  endStreams(code: number): void {
    for (const client of this.#clients) {
      this.#send(client, { tag: 'stream:error', attrs: { code: String(code) } });
      client.socket.close();
    }
  }

  unlink(): void {
    this.#linked = undefined;
    this.endStreams(401);
  }

  /** People begin anew with a device that was linked again. */
  forgetSessions(): void {
    for (const person of this.people) person.forgetSessions();
  }

  /** A stanza as it is. */
  push(node: BinaryNode): void {
    for (const client of this.#clients) if (client.isLoggedIn) this.#send(client, node);
  }

  /** Bytes that are no stanza. */
  pushRaw(bytes: Buffer): void {
    for (const { socket, isLoggedIn } of this.#clients) if (isLoggedIn) socket.send(bytes);
  }

  /** A message to the bot. From the phone of its own account it is a copy of what the owner wrote to `chat`. */
  says(from: FakePerson, id: string, message: proto.IMessage, { chat, name = from.name, address }: SaidTo = {}): void {
    void this.#outside.run(async () => {
      const linked = this.#linked;
      if (!linked) throw new Error('no device is linked');
      const t = String(Math.floor(Date.now() / 1000));
      const content =
        chat === undefined || from === this.phone
          ? [await from.encrypt(this.deviceJid, linked.bundle, this.#copied(from, message, chat))]
          : await from.encryptForGroup(chat, this.deviceJid, linked.bundle, message);
      const attrs = { id, t, type: 'text', notify: name, ...(address ?? this.#addressOf(from, chat)) };
      const delivered: Delivered = { attrs, content };
      this.unconfirmed.set(id, delivered);
      if (!this.#isHeld) this.#deliverToAll(delivered);
    });
  }

  /** People write from now on, and nothing of it is delivered. */
  hold(): void {
    this.#isHeld = true;
  }

  async deliverHeld(): Promise<void> {
    await this.#outside.idle();
    this.#isHeld = false;
    for (const delivered of this.unconfirmed.values()) this.#deliverToAll(delivered);
  }

  #deliverToAll(delivered: Delivered): void {
    for (const client of this.#clients) if (client.isLoggedIn) this.#deliver(client, delivered, false);
  }

  #copied(from: FakePerson, message: proto.IMessage, chat: string | undefined): proto.IMessage {
    return from === this.phone ? { deviceSentMessage: { destinationJid: chat ?? from.jid, message } } : message;
  }

  #addressOf(from: FakePerson, chat: string | undefined): Record<string, string> {
    if (from === this.phone) return { from: from.jid, recipient: chat ?? from.jid };
    if (chat === undefined) return { from: from.jid, sender_lid: from.lidJid };
    return { from: chat, participant: from.lidJid, participant_pn: from.jid, addressing_mode: 'lid' };
  }

  async goDown(): Promise<void> {
    for (const { socket } of this.#clients) socket.terminate();
    await this.#http.goDown();
  }

  comeUp(): Promise<void> {
    return this.#http.comeUp();
  }

  async close(): Promise<void> {
    await this.#outside.idle();
    if (this.#http.isUp) await this.goDown();
    this.#sockets.close();
    if (this.unreadable.length > 0) throw new Error(`messages that could not be read: ${this.unreadable.join('; ')}`);
  }

  get connections(): number {
    return this.#clients.size;
  }

  #connected(socket: WebSocket): void {
    const lane = new Lane();
    const noise = new ServerNoise(
      (bytes) => socket.send(bytes),
      (payload, key) => this.#login(client, payload, key),
      // Strictly one after the other, as they were sent.
      (bytes) => void lane.run(async () => await this.#take(client, await decodeBinaryNode(bytes))),
    );
    const client: Client = { socket, noise, isLoggedIn: false, lane };
    this.#clients.add(client);
    socket.on('message', (data) => noise.take(data as Buffer));
    socket.on('error', () => undefined);
    socket.on('close', () => this.#clients.delete(client));
  }

  #login(client: Client, { username, device: named, devicePairingData: data }: proto.ClientPayload, key: Buffer): void {
    if (data) {
      const bundle: Bundle = {
        registrationId: Buffer.from(data.eRegid ?? []).readUInt32BE(),
        identity: data.eIdent ?? Buffer.alloc(0),
        signedPreKey: {
          keyId: Buffer.from(data.eSkeyId ?? []).readUIntBE(0, 3),
          publicKey: data.eSkeyVal ?? Buffer.alloc(0),
          signature: data.eSkeySig ?? Buffer.alloc(0),
        },
      };
      this.#registering = { client, bundle, noiseKey: key };
      const refs = this.refs.map((ref): BinaryNode => ({ tag: 'ref', attrs: {}, content: Buffer.from(ref) }));
      this.#send(client, {
        tag: 'iq',
        attrs: { from: '@s.whatsapp.net', type: 'set', id: 'pair', xmlns: 'md' },
        content: [{ tag: 'pair-device', attrs: {}, content: refs }],
      });
      return;
    }
    const isKnown = this.#linked?.noiseKey.equals(key) && Number(username) === Number(this.phone.phone) && named === device;
    if (!isKnown || this.refusal) {
      this.#send(client, this.refusal ?? { tag: 'failure', attrs: { reason: '401' } });
      client.socket.close();
      return;
    }
    this.logins += 1;
    client.isLoggedIn = true;
    this.#send(client, { tag: 'success', attrs: { t: String(Math.floor(Date.now() / 1000)), lid: this.deviceLid } });
    const offline = [...this.unconfirmed.values()];
    for (const delivered of offline) this.#deliver(client, delivered, true);
    this.#send(client, { tag: 'ib', attrs: {}, content: [{ tag: 'offline', attrs: { count: String(offline.length) } }] });
  }

  #deliver(client: Client, { attrs, content }: Delivered, isOffline: boolean): void {
    const parts = content.map(({ type, content: bytes }): BinaryNode => ({ tag: 'enc', attrs: { v: '2', type }, content: bytes }));
    this.#send(client, { tag: 'message', attrs: { ...attrs, ...(isOffline && { offline: '1' }) }, content: parts });
  }

  async #take(client: Client, node: BinaryNode): Promise<void> {
    const { id = '', to = '', type } = node.attrs;
    if (node.tag === 'message') await this.#takeMessage(client, node);
    else if (node.tag === 'chatstate') this.typing.push(to);
    else if (node.tag === 'receipt' && type !== 'retry') this.#confirmed(node);
    else if (node.tag === 'ack' && node.attrs.class === 'message') this.#confirmed(node);
    else if (node.tag === 'iq' && id === 'pair-success') this.#restart(client);
    else if (node.tag === 'iq' && type !== 'result') {
      const asked = Array.isArray(node.content) ? node.content[0] : undefined;
      if (asked?.tag === 'link_code_companion_reg') this.pairingRequests.push(asked);
      if (asked?.tag === 'remove-companion-device') this.logouts += 1;
      const linked = { person: this.phone, device };
      this.#send(client, answerTo(node, { people: this.people, group, linked, mediaHost: 'mmg.whatsapp.net' }));
    }
  }

  #confirmed(node: BinaryNode): void {
    this.receipts.push(node);
    this.unconfirmed.delete(node.attrs.id ?? '');
  }

  /** As WhatsApp does it after linking. */
  #restart(client: Client): void {
    this.#registering = undefined;
    this.#send(client, { tag: 'stream:error', attrs: { code: '515' } });
    client.socket.close();
  }

  async #takeMessage(client: Client, node: BinaryNode): Promise<void> {
    const { id = '', to = '', edit } = node.attrs;
    const failure = this.#failures[edit === '1' ? 'edit' : 'send'].shift();
    if (failure && 'cut' in failure && failure.cut === 'before') {
      client.socket.terminate();
      return;
    }
    const error =
      failure && 'error' in failure
        ? { error: String(failure.error), ...(failure.backoff && { backoff: String(failure.backoff) }) }
        : undefined;
    if (!error) {
      // WhatsApp cannot know whether its readers can decrypt it.
      const message = await this.#read(node).catch((reason: unknown) => void this.unreadable.push(String(reason)));
      // A phone shows a message with an id that it has only once.
      if (message && !this.sent.some((one) => one.id === id))
        this.sent.push({ id, to, message, attrs: node.attrs as Record<string, string> });
    }
    const ack = { tag: 'ack', attrs: { class: 'message', id, from: to, t: '1', ...error } };
    if (failure && 'cut' in failure) client.socket.terminate();
    else if (failure && 'answered' in failure) void failure.answered.then(() => this.#send(client, ack));
    else this.#send(client, ack);
  }

  /** As the first reader does: whoever it is written to, or their own phone in a chat with themselves. */
  async #read({ attrs, content }: BinaryNode): Promise<proto.IMessage> {
    const children = Array.isArray(content) ? content : [];
    const participants = children.find(({ tag }) => tag === 'participants')?.content;
    const parts = (Array.isArray(participants) ? participants : []).map(({ attrs: { jid = '' }, content: inner }) => ({
      person: this.people.find(({ phone, lid }) => [phone, lid].includes(jid.split(/[:@]/)[0] ?? '')),
      enc: Array.isArray(inner) ? inner[0] : undefined,
    }));
    const to = attrs.to ?? '';
    const read: { person: FakePerson; message: proto.IMessage }[] = [];
    for (const { person, enc } of parts) {
      if (person && enc)
        read.push({ person, message: await person.decrypt(this.deviceJid, enc.attrs.type ?? '', enc.content as Uint8Array) });
    }
    const group = children.find(({ tag, attrs: { type } }) => tag === 'enc' && type === 'skmsg');
    if (group) return await this.ada.decryptFromGroup(to, this.deviceJid, group.content as Uint8Array);
    const own = read.find(({ person }) => person === this.phone)?.message.deviceSentMessage?.message;
    const theirs = read.find(({ person }) => person !== this.phone)?.message;
    const message = theirs ?? own;
    if (!message) throw new Error('a message that nobody can read');
    return message;
  }

  #send(client: Client, node: BinaryNode): void {
    if (client.socket.readyState === client.socket.OPEN) client.noise.send(encodeBinaryNode(node));
  }

  async #serveFile(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const failure = request.method === 'GET' ? this.#failures.fetch.shift() : undefined;
    if (failure && 'cut' in failure) {
      request.socket.destroy();
      return;
    }
    const path = (request.url ?? '').split('?')[0] ?? '';
    if (request.method === 'POST') {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      this.files.set(path, Buffer.concat(chunks));
      response.end(JSON.stringify({ url: `https://mmg.whatsapp.net${path}`, direct_path: path }));
      return;
    }
    const file = this.files.get(path);
    response.statusCode = failure && 'error' in failure ? failure.error : file ? 200 : 404;
    response.end(response.statusCode === 200 ? file : undefined);
  }
}
