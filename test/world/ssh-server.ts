import { type ChildProcess, spawn } from 'node:child_process';
import {
  createCipheriv,
  createDecipheriv,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hash,
  randomBytes,
  sign,
} from 'node:crypto';
import type { Socket } from 'node:net';
import { mpint, Reader, string, uint32 } from './ssh-wire.ts';

const greeting = 'SSH-2.0-test';
const messages = {
  ...{ serviceRequest: 5, serviceAccept: 6, kexInit: 20, newKeys: 21, ecdhInit: 30, ecdhReply: 31, authRequest: 50, authSuccess: 52 },
  ...{ globalRequest: 80, requestFailure: 82, channelOpen: 90, channelOpened: 91, data: 94, eof: 96, close: 97, request: 98, success: 99 },
} as const;
const tagBytes = 16;
const maxData = 32_768;

const hostKey = generateKeyPairSync('ed25519');
const rawKey = (key: typeof hostKey.publicKey): Buffer => Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url');
const hostKeyBlob = Buffer.concat([string('ssh-ed25519'), string(rawKey(hostKey.publicKey))]);

/** One direction of AES-GCM (RFC 5647): the counter in the nonce goes up with each packet. */
class Direction {
  readonly #key: Buffer;
  readonly #nonce: Buffer;

  constructor(key: Buffer, nonce: Buffer) {
    this.#key = key;
    this.#nonce = nonce;
  }

  seal(length: Buffer, text: Buffer): Buffer {
    const cipher = createCipheriv('aes-128-gcm', this.#key, this.#nextNonce()).setAAD(length);
    return Buffer.concat([length, cipher.update(text), cipher.final(), cipher.getAuthTag()]);
  }

  open(length: Buffer, text: Buffer, tag: Buffer): Buffer {
    const cipher = createDecipheriv('aes-128-gcm', this.#key, this.#nextNonce()).setAAD(length).setAuthTag(tag);
    return Buffer.concat([cipher.update(text), cipher.final()]);
  }

  #nextNonce(): Buffer {
    const nonce = Buffer.from(this.#nonce);
    this.#nonce.writeBigUInt64BE(this.#nonce.readBigUInt64BE(4) + 1n, 4);
    return nonce;
  }
}

/**
 * An SSH server with one key exchange, one cipher and one channel, enough for OpenSSH's client and git. Everybody may log in, to run only what
 * `command` makes of the words that the client sends: the program and its arguments, or undefined.
 */
export function serveSsh(socket: Socket, command: (words: string) => readonly string[] | undefined): void {
  new Connection(socket, command).start();
}

class Connection {
  readonly #socket: Socket;
  readonly #command: (words: string) => readonly string[] | undefined;
  #received: Buffer = Buffer.alloc(0);
  #clientGreeting: string | undefined;
  #clientInit: Buffer = Buffer.alloc(0);
  readonly #serverInit = kexInit();
  #incoming: Direction | undefined;
  #outgoing: Direction | undefined;
  /** In force after the client's message that says so. */
  #nextIncoming: Direction | undefined;
  #channel = 0;
  #child: ChildProcess | undefined;

  constructor(socket: Socket, command: (words: string) => readonly string[] | undefined) {
    this.#socket = socket;
    this.#command = command;
  }

  start(): void {
    this.#socket.write(`${greeting}\r\n`);
    this.#socket.on('close', () => this.#child?.kill());
    this.#socket.on('data', (data: Buffer) => {
      this.#received = Buffer.concat([this.#received, data]);
      try {
        while (this.#takeOne());
      } catch {
        this.#socket.destroy();
      }
    });
  }

  /** False when more has to arrive first. */
  #takeOne(): boolean {
    if (this.#clientGreeting === undefined) return this.#takeGreeting();
    if (this.#received.length < 4) return false;
    const head = this.#received.subarray(0, 4);
    const length = head.readUInt32BE();
    const total = 4 + length + (this.#incoming ? tagBytes : 0);
    if (this.#received.length < total) return false;
    const sealed = this.#received.subarray(4, 4 + length);
    const packet = this.#incoming?.open(head, sealed, this.#received.subarray(4 + length, total)) ?? sealed;
    this.#received = this.#received.subarray(total);
    this.#take(packet.subarray(1, length - (packet[0] ?? 0)));
    return true;
  }

  #takeGreeting(): boolean {
    const end = this.#received.indexOf('\n');
    if (end < 0) return false;
    this.#clientGreeting = this.#received.toString('latin1', 0, end).trimEnd();
    this.#received = this.#received.subarray(end + 1);
    this.#send(this.#serverInit);
    return true;
  }

  #take(payload: Buffer): void {
    const reader = new Reader(payload, 1);
    const message = payload[0];
    if (message === messages.kexInit) this.#clientInit = payload;
    else if (message === messages.ecdhInit) this.#exchangeKeys(reader.string());
    else if (message === messages.newKeys) this.#incoming = this.#nextIncoming;
    else if (message === messages.serviceRequest) this.#send(Buffer.from([messages.serviceAccept]), string(reader.string()));
    else if (message === messages.authRequest) this.#send(Buffer.from([messages.authSuccess]));
    else if (message === messages.globalRequest) this.#takeGlobalRequest(reader);
    else if (message === messages.channelOpen) this.#openChannel(reader);
    else if (message === messages.request) this.#takeRequest(reader);
    else if (message === messages.data) this.#child?.stdin?.write(channelData(reader));
    else if (message === messages.eof) this.#child?.stdin?.end();
  }

  #takeGlobalRequest(reader: Reader): void {
    reader.string();
    if (reader.byte() !== 0) this.#send(Buffer.from([messages.requestFailure]));
  }

  #openChannel(reader: Reader): void {
    reader.string();
    this.#channel = reader.uint32();
    this.#sendOnChannel(messages.channelOpened, uint32(0), uint32(0x7fffffff), uint32(maxData));
  }

  #takeRequest(reader: Reader): void {
    reader.uint32();
    const kind = reader.string().toString();
    if (reader.byte() !== 0) this.#sendOnChannel(messages.success);
    if (kind === 'exec') this.#run(this.#command(reader.string().toString()));
  }

  #run(words: readonly string[] | undefined): void {
    const [program = 'false', ...args] = words ?? [];
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#child = child;
    child.stdin.on('error', () => undefined);
    child.stdout.on('data', (data: Buffer) => {
      for (let at = 0; at < data.length; at += maxData) this.#sendOnChannel(messages.data, string(data.subarray(at, at + maxData)));
    });
    child.on('close', (code) => {
      this.#sendOnChannel(messages.eof);
      this.#sendOnChannel(messages.request, string('exit-status'), Buffer.from([0]), uint32(code ?? 255));
      this.#sendOnChannel(messages.close);
    });
  }

  #exchangeKeys(clientKey: Buffer): void {
    const own = generateKeyPairSync('x25519');
    const theirs = createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x: clientKey.toString('base64url') }, format: 'jwk' });
    const secret = mpint(diffieHellman({ privateKey: own.privateKey, publicKey: theirs }));
    const parts = [this.#clientGreeting ?? '', greeting, this.#clientInit, this.#serverInit, hostKeyBlob, clientKey, rawKey(own.publicKey)];
    const exchange = hash('sha256', Buffer.concat([...parts.map(string), secret]), 'buffer');
    const signature = Buffer.concat([string('ssh-ed25519'), string(sign(null, exchange, hostKey.privateKey))]);
    this.#send(Buffer.from([messages.ecdhReply]), string(hostKeyBlob), string(rawKey(own.publicKey)), string(signature));
    this.#send(Buffer.from([messages.newKeys]));
    const derive = (letter: string, bytes: number): Buffer =>
      Buffer.from(hash('sha256', Buffer.concat([secret, exchange, Buffer.from(letter), exchange]), 'buffer').subarray(0, bytes));
    this.#nextIncoming = new Direction(derive('C', 16), derive('A', 12));
    this.#outgoing = new Direction(derive('D', 16), derive('B', 12));
  }

  #sendOnChannel(message: number, ...parts: readonly Buffer[]): void {
    this.#send(Buffer.from([message]), uint32(this.#channel), ...parts);
  }

  #send(...parts: readonly Buffer[]): void {
    if (this.#socket.destroyed) return;
    const payload = Buffer.concat(parts);
    // Without encryption the length counts for the alignment as well.
    const [block, before] = this.#outgoing ? [16, 1] : [8, 5];
    const padding = block - ((before + payload.length) % block) + (((before + payload.length) % block) + 4 > block ? block : 0);
    const text = Buffer.concat([Buffer.from([padding]), payload, randomBytes(padding)]);
    this.#socket.write(this.#outgoing?.seal(uint32(text.length), text) ?? Buffer.concat([uint32(text.length), text]));
  }
}

function channelData(reader: Reader): Buffer {
  reader.uint32();
  return reader.string();
}

function kexInit(): Buffer {
  const cipher = 'aes128-gcm@openssh.com';
  const lists = ['curve25519-sha256', 'ssh-ed25519', cipher, cipher, 'hmac-sha2-256', 'hmac-sha2-256', 'none', 'none', '', ''];
  return Buffer.concat([Buffer.from([messages.kexInit]), randomBytes(16), ...lists.map((list) => string(list)), Buffer.alloc(5)]);
}
