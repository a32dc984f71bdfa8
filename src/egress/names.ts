import { isIP } from 'node:net';
import { canonicalAddress } from '../lib/ip-address.ts';
import { Fields } from './fields.ts';
import { canonicalHost } from './host-name.ts';

/** What a sandbox of one session looks up at a time, and more. */
const maxNames = 4096;
/** The addresses of 127.64.0.0/10, all of which `lo` has. */
const addressCount = 2 ** 22;
const ttlSeconds = 10;
const maxQueryBytes = 4096;
const headerBytes = 12;

const typeA = 1;
const classInternet = 1;
const noError = 0;
const formatError = 1;
const noSuchName = 3;
const notImplemented = 4;
const refused = 5;

/**
 * The resolver inside a restricted sandbox. Each name gets a loopback address of its own, so that a connection to it says which name was meant.
 * Security: it asks no other resolver, so no data leaves in names.
 */
export class Names {
  readonly #maxNames: number;
  readonly #addressCount: number;
  /** The name that was not used for longest is the first. */
  readonly #addresses = new Map<string, string>();
  readonly #hosts = new Map<string, string>();
  #next = 1;

  constructor(limit = maxNames, addresses = addressCount) {
    this.#maxNames = limit;
    this.#addressCount = addresses;
  }

  /** The host for which this address was given out, unless more than 4,096 others were used since. */
  hostAt(address: string): string | undefined {
    const host = this.#hosts.get(canonicalAddress(address));
    if (host !== undefined) this.#addressOf(host);
    return host;
  }

  /** The answer to a DNS query over UDP. Undefined for what is none. At most 16 bytes longer than the query. */
  answer(query: Buffer): Buffer | undefined {
    // Security: a response is never answered, so two resolvers cannot keep each other busy.
    if (query.length < headerBytes || query.length > maxQueryBytes || isResponse(query)) return undefined;
    if (operationOf(query) !== 0) return reply(query, notImplemented);
    const question = parseQuestion(query);
    if (question === undefined) return reply(query, formatError);
    const { type, name, raw } = question;
    if (question.class !== classInternet) return reply(query, refused, raw);
    if (name === undefined || !isPublicName(name)) return reply(query, noSuchName, raw);
    return type === typeA ? reply(query, noError, raw, this.#addressOf(name)) : reply(query, noError, raw);
  }

  #addressOf(host: string): string {
    const address = this.#addresses.get(host) ?? this.#freeAddress();
    this.#addresses.delete(host);
    this.#addresses.set(host, address);
    this.#hosts.set(address, host);
    const [oldest] = this.#addresses;
    if (oldest && this.#addresses.size > this.#maxNames) {
      this.#addresses.delete(oldest[0]);
      this.#hosts.delete(oldest[1]);
    }
    return address;
  }

  /** Security: goes round all addresses, so that a program that kept an address does not soon reach another host there. */
  #freeAddress(): string {
    for (;;) {
      const number = this.#next;
      this.#next = (number + 1) % this.#addressCount;
      const address = `127.${64 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;
      if (!this.#hosts.has(address)) return address;
    }
  }
}

function isResponse(query: Buffer): boolean {
  return (query.readUInt8(2) & 0x80) !== 0;
}

function operationOf(query: Buffer): number {
  return (query.readUInt8(2) >> 3) & 15;
}

interface Question {
  type: number;
  class: number;
  /** Undefined when it is not the name of a host. */
  name: string | undefined;
  raw: Buffer;
}

/** The only question of a query. What follows it, such as EDNS options, is of no interest. */
function parseQuestion(query: Buffer): Question | undefined {
  const [questions, answers, authorities] = [4, 6, 8].map((offset) => query.readUInt16BE(offset));
  if (questions !== 1 || answers !== 0 || authorities !== 0) return undefined;
  const fields = new Fields(query.subarray(headerBytes));
  const labels: string[] = [];
  let bytes = 5;
  for (let length = fields.number(1); length > 0; length = fields.number(1)) {
    // More than 63 is a pointer, which a question has no use for.
    if (length > 63) return undefined;
    labels.push(fields.take(length).toString('latin1'));
    bytes += 1 + length;
  }
  const type = fields.number(2);
  const classNumber = fields.number(2);
  if (fields.isCut || bytes > 255 + 4) return undefined;
  // Security: a dot inside a label, or a letter that is not ASCII, would become another name.
  const isPlain = labels.every((label) => /^[\w-]+$/.test(label));
  const name = isPlain ? canonicalHost(labels.join('.')) : undefined;
  return { type, class: classNumber, name, raw: query.subarray(headerBytes, headerBytes + bytes) };
}

/** Whether a host somewhere else may have it: other names get no address. */
export function isPublicName(name: string): boolean {
  return name.includes('.') && isIP(name) === 0 && !/\.(?:local|localhost|arpa)$/.test(name);
}

function reply(query: Buffer, code: number, question?: Buffer, address?: string): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.writeUInt16BE(query.readUInt16BE(0), 0);
  // A response to the same operation, with recursion as it was asked for; recursion is offered.
  header.writeUInt8(0x80 | (query.readUInt8(2) & 0x79), 2);
  header.writeUInt8(0x80 | code, 3);
  header.writeUInt16BE(question ? 1 : 0, 4);
  header.writeUInt16BE(address ? 1 : 0, 6);
  return Buffer.concat([header, question ?? Buffer.alloc(0), address ? addressRecord(address) : Buffer.alloc(0)]);
}

function addressRecord(address: string): Buffer {
  const record = Buffer.alloc(16);
  // The name of the question.
  record.writeUInt16BE(0xc000 | headerBytes, 0);
  record.writeUInt16BE(typeA, 2);
  record.writeUInt16BE(classInternet, 4);
  record.writeUInt32BE(ttlSeconds, 6);
  record.writeUInt16BE(4, 10);
  record.set(address.split('.').map(Number), 12);
  return record;
}
