import { type ClientRequest, request as httpRequest, type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Connection } from './connection.ts';
import { endToEnd, hasBody, headersWithout, isPlainlyFramed } from './http-headers.ts';
import type { Transit } from './transit.ts';
import { carryBothWays, type Route } from './tunnel.ts';

/** Of an answer. */
const maxHeaderBytes = 65_536;

/** What a host is sent; headers are names and values in turn. */
export interface Outgoing {
  headers: string[];
  path: string;
}

interface Upgraded {
  incoming: IncomingMessage;
  head: Buffer;
}

/** Sends a request over the connection of the route and its answer back. False when the host gave no answer that can be forwarded. */
export async function exchange(
  request: IncomingMessage,
  response: ServerResponse,
  route: Route,
  { headers, path }: Outgoing,
): Promise<boolean> {
  const outgoing = send(request, route, path, headers);
  // Once: a host that says so without end must not fill the memory.
  outgoing.once('continue', () => {
    if (!response.headersSent) response.writeContinue();
  });
  response.once('close', () => outgoing.destroy());
  if (hasBody(request)) request.pipe(outgoing);
  else outgoing.end();
  const incoming = await answered(outgoing);
  if (!incoming || !isPlainlyFramed(incoming)) {
    outgoing.destroy();
    return false;
  }
  response.once('finish', () => {
    // The host answered before it had the whole body: the rest is dropped, so that the next request can be read.
    request.unpipe(outgoing);
    request.resume();
  });
  return await forwardAnswer(incoming, response, request, route.transit);
}

/** Asks the host to switch to WebSocket, then carries bytes both ways. False when it gave no answer that can be forwarded. */
export async function exchangeUpgrade(
  request: IncomingMessage,
  head: Buffer,
  connection: Connection,
  route: Route,
  { headers, path }: Outgoing,
): Promise<boolean> {
  const { upstream, transit } = route;
  const switching = ['Connection', 'Upgrade', 'Upgrade', 'websocket'];
  const outgoing = send(request, route, path, [...headers, ...switching]);
  outgoing.end();
  const upgraded = Promise.withResolvers<Upgraded | undefined>();
  outgoing.once('upgrade', (incoming: IncomingMessage, _socket: Socket, begun: Buffer) => upgraded.resolve({ incoming, head: begun }));
  const incoming = await answered(outgoing);
  upgraded.resolve(undefined);
  const switched = await upgraded.promise;
  if (switched) {
    const kept = endToEnd(switched.incoming);
    const lines = [...(transit?.incomingHeaders(kept) ?? kept), ...switching];
    const answerHeaders = lines.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('');
    connection.socket.write(Buffer.from(`HTTP/1.1 101 Switching Protocols\r\n${answerHeaders}\r\n`, 'latin1'));
    // Through the same stream as what follows.
    upstream.unshift(switched.head);
    // Security: only now, because a host that did not switch would read it as another request.
    upstream.write(head);
    carryBothWays(connection, route);
    return true;
  }
  if (!incoming || !isPlainlyFramed(incoming)) {
    outgoing.destroy();
    return false;
  }
  const response = new ServerResponse(request);
  response.assignSocket(connection.socket);
  response.shouldKeepAlive = false;
  const isForwarded = await forwardAnswer(incoming, response, request, transit);
  response.detachSocket(connection.socket);
  if (isForwarded) connection.end('');
  return isForwarded;
}

function send(request: IncomingMessage, { upstream }: Route, path: string, headers: string[]): ClientRequest {
  const outgoing = httpRequest({
    createConnection: () => upstream,
    method: request.method ?? 'GET',
    path,
    headers,
    setHost: false,
    insecureHTTPParser: false,
    maxHeaderSize: maxHeaderBytes,
  });
  outgoing.flushHeaders();
  return outgoing;
}

/** Undefined when there is none. */
async function answered(outgoing: ClientRequest): Promise<IncomingMessage | undefined> {
  const { promise, resolve } = Promise.withResolvers<IncomingMessage | undefined>();
  outgoing.on('error', () => resolve(undefined));
  outgoing.once('close', () => resolve(undefined));
  outgoing.once('upgrade', () => resolve(undefined));
  outgoing.once('response', resolve);
  return await promise;
}

/** Resolves when it was sent, or the client has left. False when the answer cannot be forwarded. */
async function forwardAnswer(
  incoming: IncomingMessage,
  response: ServerResponse,
  request: IncomingMessage,
  transit: Transit | undefined,
): Promise<boolean> {
  const answer = transit ? transit.incoming(incoming, request.method) : { headers: incoming.rawHeaders, body: incoming };
  if (!answer) {
    incoming.destroy();
    return false;
  }
  // A client that was not told to go on may never send the body that it announced.
  if (request.headers.expect !== undefined && !request.complete) response.shouldKeepAlive = false;
  response.sendDate = false;
  response.on('error', () => undefined);
  incoming.on('error', () => undefined);
  const reason = incoming.statusMessage ?? '';
  const scrubbedReason = transit ? (transit.incomingHeaders([reason])[0] ?? '') : reason;
  try {
    response.writeHead(incoming.statusCode ?? 502, scrubbedReason, answerHeaders(incoming, request, answer.headers));
  } catch {
    // A status or a header that cannot be sent.
    incoming.destroy();
    answer.body.destroy();
    return false;
  }
  const sent = new Promise((resolve) => response.once('finish', resolve).once('close', resolve));
  incoming.once('end', () => {
    if (response.chunkedEncoding) response.addTrailers(trailersOf(incoming, transit));
  });
  incoming.once('close', () => {
    // The client must not take a part for the whole.
    if (!incoming.complete) response.destroy();
  });
  // What cannot be decoded is no answer: the client must not take a part for the whole.
  answer.body.once('error', () => response.destroy());
  response.once('close', () => answer.body.destroy());
  answer.body.pipe(response);
  await sent;
  return true;
}

/** Trailers are announced only where they can follow: Node refuses the header otherwise. */
function answerHeaders(incoming: IncomingMessage, request: IncomingMessage, raw: readonly string[]): string[] {
  const isChunked = incoming.headers['transfer-encoding'] !== undefined && request.httpVersion === '1.1' && request.method !== 'HEAD';
  const kept = endToEnd(incoming, raw);
  return isChunked ? kept : headersWithout(kept, ['trailer']);
}

function trailersOf(incoming: IncomingMessage, transit: Transit | undefined): [string, string][] {
  const kept = endToEnd(incoming, incoming.rawTrailers);
  const raw = transit?.incomingHeaders(kept) ?? kept;
  return raw.flatMap((name, at): [string, string][] => (at % 2 === 0 ? [[name, raw[at + 1] ?? '']] : []));
}
