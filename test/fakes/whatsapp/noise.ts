import { aesDecryptGCM, aesEncryptGCM, Curve, hkdf, NOISE_MODE, NOISE_WA_HEADER, proto, sha256 } from 'baileys';

/** A chain that WhatsApp signed once. Baileys checks its signatures, and not that it belongs to the key of the server. */
const certificates = Buffer.from(
  'CncKMwjjAhADGiCRKg7Kg1iu4CSulwLBaxX51Tefw6VXGgZqcr5OEbXIRiDQ04bOBijQjZ/TBhJA34Bj82jAHhLpCWBNVBlGnFDieamd8+138S57uMt9ke9mrn5r4+VepwBPKEgHjob6bR70rlCmWDkxZv+CfVjIAxJ2CjIIAxAAGiAcUamsMDmUxsjQuS6hh4pTNHZZnMWZ++o1mX2aqQzOYiCAka6+Bij/3rfcBhJAJw8pRkhTn+1IcOJQVN1OlZg6uikYnCumyO7acFVVX3U3QPXsGSq2TCbCbWrebSC593Su43EgprIDlfU8ZgWFBw==',
  'base64',
);
const nothing = Buffer.alloc(0);

/** The server's side of WhatsApp's handshake and encryption, over the bytes of a connection. */
export class ServerNoise {
  readonly #ephemeral = Curve.generateKeyPair();
  readonly #send: (bytes: Buffer) => void;
  readonly #onLogin: (payload: proto.ClientPayload, key: Buffer) => void;
  readonly #onStanza: (bytes: Buffer) => void;
  #bytes: Buffer = nothing;
  #hash: Buffer = Buffer.from(NOISE_MODE);
  #salt: Buffer = this.#hash;
  #key: Buffer = this.#hash;
  #counter = 0;
  #step: 'intro' | 'hello' | 'finish' | 'open' = 'intro';
  #transport: { read: Buffer; write: Buffer; reads: number; writes: number } | undefined;

  constructor(
    send: (bytes: Buffer) => void,
    onLogin: (payload: proto.ClientPayload, key: Buffer) => void,
    onStanza: (bytes: Buffer) => void,
  ) {
    this.#send = send;
    this.#onLogin = onLogin;
    this.#onStanza = onStanza;
  }

  take(bytes: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    if (this.#step === 'intro') {
      this.#bytes = this.#bytes.subarray(NOISE_WA_HEADER.length);
      this.#step = 'hello';
    }
    while (this.#bytes.length >= 3) {
      const size = this.#bytes.readUIntBE(0, 3);
      if (this.#bytes.length < size + 3) return;
      const frame = this.#bytes.subarray(3, size + 3);
      this.#bytes = this.#bytes.subarray(size + 3);
      this.#takeFrame(frame);
    }
  }

  send(stanza: Uint8Array): void {
    const transport = this.#transport;
    if (!transport) throw new Error('not open');
    this.#sendFrame(aesEncryptGCM(stanza, transport.write, ivOf(transport.writes++), nothing));
  }

  #takeFrame(frame: Buffer): void {
    if (this.#step === 'hello') this.#hello(proto.HandshakeMessage.decode(frame));
    else if (this.#step === 'finish') this.#finish(proto.HandshakeMessage.decode(frame));
    else {
      const transport = this.#transport;
      if (transport) this.#onStanza(aesDecryptGCM(frame, transport.read, ivOf(transport.reads++), nothing));
    }
  }

  #hello({ clientHello }: proto.HandshakeMessage): void {
    const theirs = Buffer.from(clientHello?.ephemeral ?? nothing);
    const own = Curve.generateKeyPair();
    this.#authenticate(NOISE_WA_HEADER);
    this.#authenticate(theirs);
    this.#authenticate(Buffer.from(this.#ephemeral.public));
    this.#mix(Curve.sharedKey(this.#ephemeral.private, theirs));
    const key = this.#encrypt(Buffer.from(own.public));
    this.#mix(Curve.sharedKey(own.private, theirs));
    const payload = this.#encrypt(certificates);
    this.#step = 'finish';
    const serverHello = { ephemeral: this.#ephemeral.public, static: key, payload };
    this.#sendFrame(Buffer.from(proto.HandshakeMessage.encode({ serverHello }).finish()));
  }

  #finish({ clientFinish }: proto.HandshakeMessage): void {
    const key = this.#decrypt(Buffer.from(clientFinish?.static ?? nothing));
    this.#mix(Curve.sharedKey(this.#ephemeral.private, key));
    const payload = proto.ClientPayload.decode(this.#decrypt(Buffer.from(clientFinish?.payload ?? nothing)));
    const [read, write] = this.#derive(nothing);
    this.#transport = { read, write, reads: 0, writes: 0 };
    this.#step = 'open';
    this.#onLogin(payload, key);
  }

  #authenticate(bytes: Buffer): void {
    this.#hash = sha256(Buffer.concat([this.#hash, bytes]));
  }

  #derive(bytes: Buffer): [Buffer, Buffer] {
    const key = Buffer.from(hkdf(bytes, 64, { salt: this.#salt, info: '' }));
    return [key.subarray(0, 32), key.subarray(32)];
  }

  #mix(bytes: Uint8Array): void {
    [this.#salt, this.#key] = this.#derive(Buffer.from(bytes));
    this.#counter = 0;
  }

  #encrypt(plain: Buffer): Buffer {
    const bytes = aesEncryptGCM(plain, this.#key, ivOf(this.#counter++), this.#hash);
    this.#authenticate(bytes);
    return bytes;
  }

  #decrypt(bytes: Buffer): Buffer {
    const plain = aesDecryptGCM(bytes, this.#key, ivOf(this.#counter++), this.#hash);
    this.#authenticate(bytes);
    return plain;
  }

  #sendFrame(bytes: Buffer): void {
    const size = Buffer.alloc(3);
    size.writeUIntBE(bytes.length, 0, 3);
    this.#send(Buffer.concat([size, bytes]));
  }
}

function ivOf(counter: number): Buffer {
  const iv = Buffer.alloc(12);
  iv.writeUInt32BE(counter, 8);
  return iv;
}
