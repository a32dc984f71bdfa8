import { isIP, type Socket } from 'node:net';
import type { Destination } from '../core/egress.ts';
import { readClientHello } from './client-hello.ts';
import type { Connection } from './connection.ts';
import type { FirstBytes } from './first-bytes.ts';
import type { Transit } from './transit.ts';

/** An allowed destination, and a connection to it. */
export interface Route {
  destination: Destination;
  upstream: Socket;
  /** For the requests of a client that are read here. Undefined without secrets. */
  transit?: Transit | undefined;
}

export interface TunnelParts {
  /** When neither side has said anything for so long, the connection is cut. */
  silentMs: number;
  /** From the first byte of a TLS handshake to the end of its first message. */
  helloMs: number;
  serveHttp(connection: Connection, route: Route): void;
  onOtherName(destination: Destination): void;
}

const httpPort = 80;
const handshakeByte = 0x16;
const maxHelloBytes = 65_536;

/**
 * Carries a connection to its host. Security: the first bytes of the client are looked at before any goes out. TLS must name the allowed host, and
 * plain bytes to port 80 are parsed as HTTP, request by request. What the host sends first, as SSH does, goes to the client at once.
 */
export async function tunnel(connection: Connection, first: FirstBytes, route: Route, parts: TunnelParts): Promise<void> {
  const { destination, upstream } = route;
  const mayBeHttp = destination.port === httpPort;
  if (!mayBeHttp) carryBack(connection, upstream);
  connection.limit(parts.silentMs, () => {
    if (upstream.bytesRead === 0) connection.cut();
  });
  const beginning = await beginningOf(first, destination, () => connection.limit(parts.helloMs));
  first.stop();
  connection.limit(undefined);
  if (connection.gone.aborted) return;
  if (beginning === 'other-name') {
    parts.onOtherName(destination);
    connection.cut();
  } else if (beginning === 'plain' && mayBeHttp) parts.serveHttp(connection, route);
  else {
    if (mayBeHttp) carryBack(connection, upstream);
    connection.socket.pipe(upstream);
  }
}

/** Copies the frames of a WebSocket both ways until both have ended. */
export function carryBothWays(connection: Connection, { upstream, transit }: Route): void {
  carryBack(connection, upstream, transit);
  connection.socket.pipe(upstream);
}

function carryBack(connection: Connection, upstream: Socket, transit?: Transit): void {
  const { socket } = connection;
  const frames = transit?.frames();
  frames?.on('error', () => connection.cut());
  if (frames) socket.once('close', () => frames.destroy());
  const last = frames ?? upstream;
  // What the host sent before it closed still has to reach the client.
  const onClosed = (): void => {
    if (!upstream.readableEnded) connection.cut();
    else if (last.readableEnded) socket.destroySoon();
    else last.once('end', () => socket.destroySoon());
  };
  if (upstream.destroyed) {
    onClosed();
    return;
  }
  if (frames) upstream.pipe(frames);
  last.pipe(socket);
  upstream.once('close', onClosed);
}

/** `silence`: the client ended its half before it sent anything. */
export async function beginningOf(
  first: FirstBytes,
  { host }: Destination,
  onHandshake: () => void,
): Promise<'named' | 'other-name' | 'plain' | 'silence'> {
  let bytes = await first.peek();
  if (bytes === undefined) return 'silence';
  if (bytes[0] !== handshakeByte) return 'plain';
  onHandshake();
  for (;;) {
    const hello = readClientHello(bytes);
    if (typeof hello === 'object') {
      const name = hello.serverName;
      return (name === undefined ? isIP(host) !== 0 : name === host) ? 'named' : 'other-name';
    }
    // A socket holds no more.
    const isFull: boolean = bytes.length >= maxHelloBytes;
    bytes = hello === 'more' && !isFull ? await first.peek(bytes.length) : undefined;
    if (bytes === undefined) return 'other-name';
  }
}
