import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { BlockReason, Destination } from '../core/egress.ts';
import { Lane } from '../lib/lanes.ts';
import type { Connection } from './connection.ts';
import { exchange, exchangeUpgrade, type Outgoing } from './http-exchange.ts';
import { forwardedHeaders, hasBody, requestProblem } from './http-headers.ts';
import { fixedTarget, parseAuthority, proxyTarget, type Target } from './http-target.ts';
import { isRefusal, malformed, type Refusal, refusal, statusOf } from './refusal.ts';
import type { Route } from './tunnel.ts';

export interface HttpProxyParts {
  /** From the first byte to the end of the headers. */
  headersMs: number;
  /** From an answer to the end of the headers of the next request. */
  idleMs: number;
  /** How long the answer to a client that has ended its half may take to begin. */
  silentMs: number;
  /** Connects when the destination is allowed. Refusals are noted. */
  reach(connection: Connection, host: string, port: number, isSecure: boolean): Promise<Route | Refusal>;
  /** Opens the tunnel that CONNECT asks for. */
  openTunnel(connection: Connection, host: string, port: number): Promise<void>;
  onRefused(destination: Destination, reason: BlockReason): void;
  /** The names of the secrets that a request has, and of those whose placeholders it has. */
  onSecrets(destination: Destination, secrets: readonly string[], placeholders: readonly string[]): void;
}

const httpPort = 80;
const httpsPort = 443;
/** More requests than this are not read before the first is answered. */
const maxPipelined = 32;
/** Of one request. Also while it arrives, 256 connections with as many short headers as possible take less than 80 MB. */
const maxRequestHeaderBytes = 32_768;
/** Security: of all requests of a sandbox that wait. Out of memory, the thread would end the network of every sandbox. */
const maxHeldBytes = 32 * 1024 * 1024;

/** Where all requests of a connection go. */
export interface Lead {
  destination: Destination;
  /** A connection for the first request. */
  ready?: Route;
  /** The client spoke TLS, which was ended here; so do requests to the host. */
  isSecure?: boolean;
}

/** A connection while it speaks HTTP. */
interface Visit {
  connection: Connection;
  /** All requests are for this host. */
  fixed: Destination | undefined;
  /** For the first request. */
  ready: Route | undefined;
  isSecure: boolean;
  /** Answers requests one after the other. */
  lane: Lane;
  unanswered: number;
  /** What its requests take of the memory. */
  heldBytes: number;
  /** A request was malformed. Security: what comes after it is not read as a request. */
  isOver: boolean;
}

export const tunnelAccepted = 'HTTP/1.1 200 Connection Established\r\n\r\n';

/** The answer to a refused CONNECT, or to a request that cannot be parsed. */
export function refusedText(refused: Refusal): string {
  const body = `${refused.sentence}\n`;
  const headers = Object.entries({ ...refusalHeaders(body), Connection: 'close' }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${statusOf(refused)} Blocked\r\n${headers.join('')}\r\n${body}`;
}

/** Forwards plain HTTP. Security: each request is parsed, judged and written anew; the bytes of the client never reach a host as they are. */
export class HttpProxy {
  readonly #parts: HttpProxyParts;
  readonly #server: Server;
  readonly #visits = new WeakMap<Socket, Visit>();
  readonly #present = new Set<Visit>();

  constructor(parts: HttpProxyParts) {
    this.#parts = parts;
    // Node's own time limits work only for a server that listens.
    this.#server = createServer({
      insecureHTTPParser: false,
      maxHeaderSize: maxRequestHeaderBytes,
      keepAliveTimeout: 0,
      requestTimeout: 0,
      // Node's own answer would not keep the next request from being read.
      requireHostHeader: false,
      // Security: after h2c a client could name other hosts, unseen.
      shouldUpgradeCallback: isWebSocket,
    });
    this.#server.maxHeadersCount = 0;
    // A client may end its half after its request, and still wait for the answer.
    Object.assign(this.#server, { httpAllowHalfOpen: true });
    const onRequest = (request: IncomingMessage, response: ServerResponse): void => this.#take(request, response);
    this.#server.on('request', onRequest);
    this.#server.on('checkContinue', onRequest);
    this.#server.on('checkExpectation', onRequest);
    this.#server.on('connect', (request, socket, head) => this.#leave(request, socket as Socket, head, 'connect'));
    this.#server.on('upgrade', (request, socket, head) => this.#leave(request, socket as Socket, head, 'upgrade'));
    this.#server.on('clientError', (_error, socket) => this.#reject(socket as Socket));
  }

  /** Reads requests from a connection. With a lead, all of them are for its destination. */
  serve(connection: Connection, lead?: Lead): void {
    const { socket } = connection;
    const visit: Visit = {
      connection,
      fixed: lead?.destination,
      ready: lead?.ready,
      isSecure: lead?.isSecure ?? false,
      lane: new Lane(),
      unanswered: 0,
      heldBytes: 0,
      isOver: false,
    };
    this.#visits.set(socket, visit);
    this.#present.add(visit);
    connection.gone.addEventListener('abort', () => this.#present.delete(visit), { once: true });
    connection.limit(this.#parts.headersMs);
    socket.once('end', () => {
      if (this.#visits.get(socket) === visit) this.#limitHalfOpen(connection);
    });
    this.#server.emit('connection', socket);
    socket.resume();
  }

  /** A client that has ended its half waits for its answer, or has left. The next bytes to it show which; without any, it is cut. */
  #limitHalfOpen(connection: Connection): void {
    const { bytesWritten } = connection.socket;
    connection.limit(this.#parts.silentMs, () => {
      if (connection.socket.bytesWritten === bytesWritten) connection.cut();
    });
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    const visit = this.#visits.get(request.socket);
    const bytes = visit && visit.unanswered < maxPipelined ? this.#hold(visit, request) : undefined;
    if (!visit || bytes === undefined) {
      request.socket.destroy();
      return;
    }
    visit.unanswered += 1;
    if (visit.isOver) return;
    const { connection, fixed, lane } = visit;
    connection.limit(undefined);
    response.once('close', () => {
      visit.unanswered -= 1;
      visit.heldBytes -= bytes;
      if (visit.unanswered === 0) connection.limit(this.#parts.idleMs);
    });
    const target = targetOf(request, fixed);
    if (isRefusal(target)) visit.isOver = true;
    guard(
      connection,
      lane.run(async () => {
        if (connection.gone.aborted || connection.socket.writableEnded) return;
        const refused = isRefusal(target)
          ? target
          : await this.#attempt(visit, request, target, async (route, outgoing) => await exchange(request, response, route, outgoing));
        if (refused?.reason === 'malformed') {
          visit.isOver = true;
          connection.end(refusedText(refused));
          return;
        }
        if (refused && !response.destroyed) refuse(request, response, refused);
        if (!response.destroyed) await once(response, 'close');
        connection.destination = fixed;
      }),
    );
  }

  /** Counts the memory of a request; undefined when the requests of the sandbox would take too much. */
  #hold(visit: Visit, request: IncomingMessage): number | undefined {
    const bytes = memoryOf(request);
    const held = [...this.#present].reduce((sum, { heldBytes }) => sum + heldBytes, bytes);
    if (held > maxHeldBytes) return undefined;
    visit.heldBytes += bytes;
    return bytes;
  }

  /** A request after which the connection speaks another protocol. */
  #leave(request: IncomingMessage, socket: Socket, head: Buffer, kind: 'connect' | 'upgrade'): void {
    const visit = this.#visits.get(socket);
    if (visit?.isOver) return;
    // Security: answers to earlier requests are still to come, and would mix with what follows.
    if (!visit || visit.unanswered > 0 || this.#hold(visit, request) === undefined) {
      socket.destroy();
      return;
    }
    this.#visits.delete(socket);
    visit.connection.limit(undefined);
    guard(visit.connection, kind === 'connect' ? this.#connect(visit, request, head) : this.#upgrade(visit, request, head));
  }

  async #connect({ connection, fixed }: Visit, request: IncomingMessage, head: Buffer): Promise<void> {
    const problem = requestProblem(request) ?? (fixed && 'This connection leads to a host already.');
    const target = parseAuthority(request.url ?? '');
    if (problem !== undefined || !target) {
      connection.end(refusedText(malformed(problem ?? 'CONNECT needs a host and a port.')));
      return;
    }
    if (head.length > 0) connection.socket.unshift(head);
    await this.#parts.openTunnel(connection, target.host, target.port);
  }

  async #upgrade(visit: Visit, request: IncomingMessage, head: Buffer): Promise<void> {
    const { connection, fixed } = visit;
    const isPlain = isWebSocket(request) && !hasBody(request);
    const target = isPlain ? targetOf(request, fixed) : malformed('The proxy forwards upgrades to WebSocket only.');
    const refused = isRefusal(target)
      ? target
      : await this.#attempt(
          visit,
          request,
          target,
          async (route, outgoing) => await exchangeUpgrade(request, head, connection, route, outgoing),
        );
    if (refused && !connection.gone.aborted) connection.end(refusedText(refused));
  }

  /** Why the request was not answered by its host; undefined when it was. */
  async #attempt(
    visit: Visit,
    request: IncomingMessage,
    target: Target,
    send: (route: Route, outgoing: Outgoing) => Promise<boolean>,
  ): Promise<Refusal | undefined> {
    const { connection, isSecure } = visit;
    const route = takeReady(visit) ?? (await this.#parts.reach(connection, target.host, target.port, isSecure));
    if (isRefusal(route)) return route;
    const { destination, upstream } = route;
    const outgoing = this.#outgoingOf(request, route, target.path, isSecure);
    if (isRefusal(outgoing)) {
      upstream.destroy();
      this.#parts.onRefused(destination, outgoing.reason);
      return outgoing;
    }
    if (await send(route, outgoing)) return undefined;
    // Also one that has left HTTP, which its request no longer closes.
    upstream.destroy();
    if (!connection.gone.aborted) this.#parts.onRefused(destination, 'unreachable');
    return refusal('unreachable', destination);
  }

  /** A request as its host gets it, or why it is not sent. */
  #outgoingOf(request: IncomingMessage, { destination, transit }: Route, path: string, isSecure: boolean): Outgoing | Refusal {
    const headers = forwardedHeaders(request, destination, isSecure ? httpsPort : httpPort);
    if (!transit) return { headers, path };
    const injection = transit.outgoing(headers, path);
    if ('refused' in injection) return refusal('wrong-credential', destination);
    const { used, carried = [] } = injection;
    if (used.length > 0 || carried.length > 0) this.#parts.onSecrets(destination, used, carried);
    return injection.request;
  }

  /** A request that cannot be parsed. Node reads no other one after it. */
  #reject(socket: Socket): void {
    const visit = this.#visits.get(socket);
    if (visit?.isOver) return;
    if (!visit || visit.unanswered > 0 || !socket.writable) {
      socket.destroy();
      return;
    }
    visit.isOver = true;
    visit.connection.end(refusedText(malformed('The request is not valid HTTP/1.1.')));
  }
}

function guard(connection: Connection, work: Promise<void>): void {
  work.catch(() => connection.cut());
}

/** A generous estimate: each name and value costs more than its letters. */
function memoryOf({ rawHeaders, url = '' }: IncomingMessage): number {
  return rawHeaders.reduce((sum, text) => sum + text.length + 64, 4_096 + url.length);
}

/** The connection that was made for the first request, if it still stands. */
function takeReady(visit: Visit): Route | undefined {
  const { ready } = visit;
  visit.ready = undefined;
  if (!ready?.upstream.readableEnded) return ready?.upstream.destroyed ? undefined : ready;
  // Its host has ended its half; ours is still open.
  ready.upstream.destroy();
  return undefined;
}

function targetOf(request: IncomingMessage, fixed: Destination | undefined): Target | Refusal {
  const problem = requestProblem(request);
  if (problem !== undefined) return malformed(problem);
  return fixed ? fixedTarget(request, fixed) : proxyTarget(request);
}

function isWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}

function refuse(request: IncomingMessage, response: ServerResponse, refused: Refusal): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const body = `${refused.sentence}\n`;
  // Without it, the next request could be read from a body that the client does not send.
  if (request.headers.expect !== undefined) response.shouldKeepAlive = false;
  response.writeHead(statusOf(refused), 'Blocked', refusalHeaders(body));
  response.end(body);
  // The rest of a body that went to a host until it failed.
  request.unpipe();
  request.resume();
}

function refusalHeaders(body: string): Record<string, string> {
  return { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Length': String(Buffer.byteLength(body)), 'X-Hermetic': 'blocked' };
}
