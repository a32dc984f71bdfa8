import type { Socket } from 'node:net';
import type { BlockReason } from '../core/egress.ts';
import type { FirstBytes } from './first-bytes.ts';

export const socksVersion = 5;

const noAuthentication = 0;
const noMethod = 0xff;
const connectCommand = 1;

const replies = { succeeded: 0, failure: 1, notAllowed: 2, hostUnreachable: 4, commandNotSupported: 7, addressTypeNotSupported: 8 };

/** `farewell`: the answer to a request that is no CONNECT. */
export type SocksRequest = { kind: 'connect'; host: string; port: number } | { kind: 'refused'; farewell: Buffer };

/** Speaks SOCKS5 (RFC 1928) up to its request. Undefined when the client leaves before or speaks another language. */
export async function readSocksRequest(first: FirstBytes, socket: Socket): Promise<SocksRequest | undefined> {
  const greeting = await first.take(2);
  const methods = greeting && (await first.take(greeting[1] ?? 0));
  if (greeting?.[0] !== socksVersion || !methods) return undefined;
  if (!methods.includes(noAuthentication)) return { kind: 'refused', farewell: Buffer.from([socksVersion, noMethod]) };
  socket.write(Buffer.from([socksVersion, noAuthentication]));

  const request = await first.take(4);
  if (request?.[0] !== socksVersion) return undefined;
  const [, command, , addressType = 0] = request;
  const readHost = addressReaders[addressType];
  if (!readHost) return { kind: 'refused', farewell: reply(replies.addressTypeNotSupported) };
  const host = await readHost(first);
  const port = await first.take(2);
  if (host === undefined || !port) return undefined;
  // Security: BIND and UDP ASSOCIATE would open sockets on the gateway's machine.
  if (command !== connectCommand) return { kind: 'refused', farewell: reply(replies.commandNotSupported) };
  return { kind: 'connect', host, port: port.readUInt16BE() };
}

export const socksAccepted = reply(replies.succeeded);

export function socksRefusal(reason: BlockReason): Buffer {
  switch (reason) {
    case 'malformed':
    case 'too-many-connections':
      return reply(replies.failure);
    case 'unresolved':
    case 'unreachable':
      return reply(replies.hostUnreachable);
    default:
      return reply(replies.notAllowed);
  }
}

const addressReaders: Record<number, (first: FirstBytes) => Promise<string | undefined>> = {
  1: async (first) => (await first.take(4))?.join('.'),
  3: async (first) => {
    const length = await first.take(1);
    return length && (await first.take(length[0] ?? 0))?.toString('utf8');
  },
  4: async (first) => (await first.take(16))?.toString('hex').match(/.{4}/g)?.join(':'),
};

/** The address in it, of which no client makes use, is 0.0.0.0:0. */
function reply(code: number): Buffer {
  return Buffer.from([socksVersion, code, 0, 1, 0, 0, 0, 0, 0, 0]);
}
