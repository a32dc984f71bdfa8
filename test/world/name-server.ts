import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv4, isIPv6 } from 'node:net';
import { ipv6Words } from '../../src/lib/ip-address.ts';
import type { Arrivals, NameAnswer } from './records.ts';

const types: Readonly<Record<number, string>> = { 1: 'A', 5: 'CNAME', 12: 'PTR', 15: 'MX', 16: 'TXT', 28: 'AAAA', 33: 'SRV', 255: 'ANY' };
const maxNameBytes = 255;

/** A name server for the whole world: names without an answer of their own have the address of the world. */
export class NameServer {
  readonly #arrivals: Arrivals;
  readonly #address: string;
  readonly #answers = new Map<string, NameAnswer[]>();

  constructor(arrivals: Arrivals, worldAddress: string) {
    this.#arrivals = arrivals;
    this.#address = worldAddress;
  }

  /** Resolves with its socket. */
  async listen(address: string, port = 53): Promise<Socket> {
    const socket = createSocket('udp4');
    socket.on('message', (query, { port: from, address: client }) => {
      const reply = this.#answer(query);
      if (reply) socket.send(reply, from, client);
    });
    socket.bind(port, address);
    await once(socket, 'listening');
    return socket;
  }

  answerName(name: string, answers: readonly NameAnswer[]): void {
    this.#answers.set(name, [...answers]);
  }

  #answer(query: Buffer): Buffer | undefined {
    const question = parseQuestion(query);
    if (!question) return undefined;
    const { name, type, end } = question;
    this.#arrivals.add({ kind: 'question', name, type: types[type] ?? String(type) });
    const answer = this.#answerTo(name, type);
    if (answer.silent?.includes(types[type] ?? '')) return undefined;
    const addresses = answer.addresses.filter((address) => (type === 1 ? isIPv4(address) : type === 28 && isIPv6(address)));
    const chain = [name, ...(answer.through ?? [])];
    const records = [
      ...chain.slice(1).map((to, index) => record(chain[index] ?? '', 5, encodeName(to))),
      ...addresses.map((address) => record(chain.at(-1) ?? '', type, encodeAddress(address))),
    ];
    const exists = answer.addresses.length > 0;
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(answer.refused ? 0x8185 : exists ? 0x8180 : 0x8183, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(exists ? records.length : 0, 6);
    return Buffer.concat([header, query.subarray(12, end), ...(exists ? records : [])]);
  }

  /** A resolver asks for both kinds of address, IPv4 first: one look-up. */
  #answerTo(name: string, type: number): NameAnswer {
    const answers = this.#answers.get(name);
    if (!answers) return { addresses: [this.#address] };
    const given = this.#given.get(name);
    if (type !== 1 && given) return given;
    const [next = { addresses: [] }] = answers.length > 1 ? answers.splice(0, 1) : answers;
    this.#given.set(name, next);
    return next;
  }

  readonly #given = new Map<string, NameAnswer>();
}

function parseQuestion(query: Buffer): { name: string; type: number; end: number } | undefined {
  if (query.length < 17 || query.readUInt16BE(4) !== 1) return undefined;
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    if (length > 63 || at + length + 5 >= query.length || at > 12 + maxNameBytes) return undefined;
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

function encodeName(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label, 'latin1')]));
  return Buffer.concat([...labels, Buffer.from([0])]);
}

function encodeAddress(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const bytes = Buffer.alloc(16);
  for (const [index, word] of (ipv6Words(address) ?? []).entries()) bytes.writeUInt16BE(word, index * 2);
  return bytes;
}

/** Valid for 0 seconds, so that no resolver remembers it. */
function record(name: string, type: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([encodeName(name), fixed, data]);
}
