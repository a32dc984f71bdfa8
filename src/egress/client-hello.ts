import { Fields } from './fields.ts';
import { canonicalHost } from './host-name.ts';

/** The first message of a TLS client. */
export interface ClientHello {
  /** In the spelling of `canonicalHost`. */
  serverName: string | undefined;
  alpn: readonly string[];
  /** Another server name may be encrypted in it. Browsers also send an extension of this kind that has no content. */
  hasEch: boolean;
}

const maxBytes = 64 * 1024;
const maxRecordBytes = 16_384;
const recordHeaderBytes = 5;
const messageHeaderBytes = 4;

const handshake = 22;
const clientHello = 1;
const serverNameExtension = 0;
const alpnExtension = 16;
/** Encrypted ClientHello, and the encrypted server name from before it. */
const encryptedNames: readonly number[] = [0xfe0d, 0xffce];

/**
 * Reads the ClientHello at the beginning of a connection, of which `bytes` is all that has arrived. Security: strict, so that no server finds
 * another name in the same bytes; text that is not TLS is malformed from its first byte.
 */
export function readClientHello(bytes: Buffer): ClientHello | 'more' | 'malformed' {
  const end = endOfMessage(bytes);
  return typeof end === 'string' ? end : (parseMessage(messageOf(bytes, end)) ?? 'malformed');
}

/** Where the record with the last byte of the message ends. Copies nothing, because it is asked again for each piece that arrives. */
function endOfMessage(bytes: Buffer): number | 'more' | 'malformed' {
  let at = 0;
  let header = 0;
  let received = 0;
  for (;;) {
    const payload = at + recordHeaderBytes;
    const length = recordLength(bytes, at);
    if (length === 'malformed' || payload + (length === 'more' ? 0 : length) > maxBytes) return 'malformed';
    if (length === 'more') return 'more';
    const arrived = Math.min(length, bytes.length - payload);
    for (let index = 0; index < arrived && received + index < messageHeaderBytes; index++)
      header = header * 256 + (bytes[payload + index] ?? 0);
    received += arrived;
    const isHeaderThere = received >= messageHeaderBytes;
    const type = header >>> (8 * (Math.min(received, messageHeaderBytes) - 1));
    if (received > 0 && type !== clientHello) return 'malformed';
    const needed = isHeaderThere ? messageHeaderBytes + (header & 0xffffff) : maxBytes;
    // Security: nothing else may be in the record in which it ends.
    const announced = received - arrived + length;
    if (needed > maxBytes || (isHeaderThere && announced > needed)) return 'malformed';
    if (arrived < length) return 'more';
    if (announced === needed) return payload + length;
    at = payload + length;
  }
}

function recordLength(bytes: Buffer, at: number): number | 'more' | 'malformed' {
  const isRecord = (bytes[at] ?? handshake) === handshake && (bytes[at + 1] ?? 3) === 3 && (bytes[at + 2] ?? 3) <= 4;
  if (!isRecord) return 'malformed';
  if (bytes.length < at + recordHeaderBytes) return 'more';
  const length = bytes.readUInt16BE(at + 3);
  return length === 0 || length > maxRecordBytes ? 'malformed' : length;
}

function messageOf(bytes: Buffer, end: number): Buffer {
  const payloads: Buffer[] = [];
  for (let at = 0; at < end; ) {
    const payload = at + recordHeaderBytes;
    at = payload + bytes.readUInt16BE(at + 3);
    payloads.push(bytes.subarray(payload, at));
  }
  return Buffer.concat(payloads).subarray(messageHeaderBytes);
}

function parseMessage(message: Buffer): ClientHello | undefined {
  const fields = new Fields(message);
  // Version and random; session, cipher suites and methods of compression.
  fields.take(34);
  const session = fields.list(1);
  const suites = fields.list(2);
  const compressions = fields.list(1);
  if (session.length > 32 || suites.length < 2 || suites.length % 2 === 1 || compressions.length === 0) return undefined;
  const hello = { serverName: undefined as string | undefined, alpn: [] as string[], hasEch: false };
  if (fields.isDone) return hello;
  const extensions = fields.list(2);
  const seen = new Set<number>();
  while (extensions.hasMore) {
    const type = extensions.number(2);
    const content = extensions.list(2);
    if (seen.has(type)) return undefined;
    seen.add(type);
    if (encryptedNames.includes(type)) hello.hasEch = true;
    if (type === alpnExtension) {
      const protocols = parseAlpn(content);
      if (protocols === undefined) return undefined;
      hello.alpn = protocols;
    }
    if (type === serverNameExtension) {
      hello.serverName = parseServerName(content);
      if (hello.serverName === undefined) return undefined;
    }
  }
  return fields.isDone && extensions.isDone ? hello : undefined;
}

/** Exactly one name, of the only kind there is. */
function parseServerName(content: Fields): string | undefined {
  const names = content.list(2);
  const kind = names.number(1);
  const name = names.list(2).rest().toString('latin1');
  if (kind !== 0 || !names.isDone || !content.isDone) return undefined;
  // Security: ASCII alone, because canonicalHost reads other letters as people write them.
  return /^[!-~]+$/.test(name) ? canonicalHost(name) : undefined;
}

function parseAlpn(content: Fields): string[] | undefined {
  const list = content.list(2);
  const protocols: string[] = [];
  while (list.hasMore) protocols.push(list.list(1).rest().toString('latin1'));
  const isValid = list.isDone && content.isDone && protocols.length > 0 && !protocols.includes('');
  return isValid ? protocols : undefined;
}
