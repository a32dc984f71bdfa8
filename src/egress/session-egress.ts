import { isIP, Socket } from 'node:net';
import type { AllowedConnection, BlockReason, Destination, EgressRules } from '../core/egress.ts';
import { Asking, type AskingParts, isAskable } from './asking.ts';
import { isBound } from './bound-secret.ts';
import { Connection, reset } from './connection.ts';
import type { Dialer } from './dial.ts';
import { proxyPort } from './environment.ts';
import { FirstBytes } from './first-bytes.ts';
import { canonicalHost } from './host-name.ts';
import { HttpProxy, refusedText, tunnelAccepted } from './http-proxy.ts';
import { Interceptor } from './interceptor.ts';
import { Names } from './names.ts';
import { isRefusal, type Refusal, refusal } from './refusal.ts';
import { SessionLookups } from './resolver.ts';
import { decide } from './rules.ts';
import { readSocksRequest, socksAccepted, socksRefusal, socksVersion } from './socks.ts';
import { beginningOf, type Route, tunnel } from './tunnel.ts';

export interface ConnectionLimits {
  maxConnections: number;
  /** From the connection to its first byte. */
  firstByteMs: number;
  /** From there to the end of the headers of a request, of a SOCKS request, or of the first message of TLS. */
  openingMs: number;
  /** From an HTTP answer to the end of the headers of the next request. */
  idleMs: number;
  /** When neither side of a tunnel has said anything for so long, or no answer has begun for a client that has ended its half, it is cut. */
  silentMs: number;
}

export interface SessionEgressOptions {
  rules(): EgressRules;
  onBlocked(destination: Destination, reason: BlockReason, by?: string): void;
  /** A connection was made: `count` 1. Or one has ended, or a request has secrets or placeholders: `count` 0. */
  onAllowed?(connection: AllowedConnection): void;
  /** Without it, what no rule allows is blocked at once. */
  asking?: Pick<AskingParts, 'line' | 'owners'> | undefined;
  /** Shared by all sessions of the thread. */
  dialer: Dialer;
  /** Shared as well. */
  interceptor?: Interceptor;
  limits?: Partial<ConnectionLimits>;
}

const standardLimits: ConnectionLimits = {
  maxConnections: 256,
  firstByteMs: 20_000,
  openingMs: 20_000,
  idleMs: 60_000,
  silentMs: 60_000,
};

/** What the client of a tunnel is told before bytes are carried. */
interface Replies {
  accepted?: string | Buffer;
  /** Without it, the connection is reset. */
  refused?(refused: Refusal): string | Buffer;
}

/** The connections of one sandbox. No method throws. */
export class SessionEgress {
  readonly #options: SessionEgressOptions;
  readonly #limits: ConnectionLimits;
  readonly #names = new Names();
  readonly #lookups = new SessionLookups();
  readonly #connections = new Set<Connection>();
  /** The insides of connections whose TLS is ended here. */
  readonly #intercepted = new Set<Connection>();
  readonly #http: HttpProxy;
  readonly #interceptor: Interceptor;
  readonly #asking: Asking | undefined;
  #isClosed = false;

  constructor(options: SessionEgressOptions) {
    this.#options = options;
    this.#interceptor = options.interceptor ?? new Interceptor();
    this.#limits = { ...standardLimits, ...options.limits };
    this.#http = new HttpProxy({
      headersMs: this.#limits.openingMs,
      idleMs: this.#limits.idleMs,
      silentMs: this.#limits.silentMs,
      reach: async (connection, host, port, isSecure) => await this.#reach(connection, host, port, isSecure),
      openTunnel: async (connection, host, port) =>
        await this.#openTunnel(connection, host, port, { accepted: tunnelAccepted, refused: refusedText }),
      onRefused: (destination, reason) => options.onBlocked(destination, reason),
      onSecrets: (destination, secrets, placeholders) => this.#noteAllowed(destination, { secrets, placeholders }),
    });
    this.#asking =
      options.asking &&
      new Asking({
        ...options.asking,
        connections: () => [...this.#connections, ...this.#intercepted],
        isUnlisted: (destination) => this.#ruleRefusal(destination)?.reason === 'unlisted',
        onNotAwaited: (destination) => options.onBlocked(destination, 'not-awaited'),
        onRevoked: (destination, { reason, by }) => options.onBlocked(destination, reason, by),
      });
  }

  /** A connection to the proxy. */
  acceptAtProxy(socket: Socket): void {
    const connection = this.#admit(socket, { host: '127.0.0.1', port: proxyPort });
    if (connection) guard(connection, this.#serveAtProxy(connection));
  }

  /** A connection to a direct port. Its local address says which name was meant. */
  acceptByName(socket: Socket): void {
    const host = this.#names.hostAt(socket.localAddress ?? '');
    const port = socket.localPort;
    if (host === undefined || port === undefined) {
      reset(socket);
      return;
    }
    const connection = this.#admit(socket, { host, port });
    if (connection) guard(connection, this.#openTunnel(connection, host, port, {}));
  }

  /** The answer to a DNS query. No other resolver is asked. */
  answerQuery(query: Buffer): Buffer | undefined {
    return this.#names.answer(query);
  }

  /** Cuts connections that are no longer allowed. Those that wait for an answer are judged anew. */
  rulesChanged(): void {
    this.#asking?.rulesChanged();
    for (const connection of [...this.#connections, ...this.#intercepted]) {
      const { destination } = connection;
      if (!destination) continue;
      const byRule = connection.isHeld ? undefined : this.#ruleRefusal(destination);
      const isPermitted = byRule?.reason === 'unlisted' && this.#asking?.isPermitted(connection, destination);
      const refused = (isPermitted ? undefined : byRule) ?? this.#upstreamRefusal(connection, destination);
      if (refused) this.#options.onBlocked(destination, refused.reason);
      // Security: a secret that is bound to a host from now on must not find connections that pass by it.
      const isOtherwise = connection.isIntercepted !== undefined && connection.isIntercepted !== this.#isIntercepted(destination);
      if (refused || isOtherwise) connection.cut();
    }
  }

  /** Notices clients that have left while they wait for an answer. */
  async settle(): Promise<void> {
    await this.#asking?.look();
  }

  /** Cuts all connections, and accepts no more. */
  close(): void {
    this.#isClosed = true;
    this.#asking?.close();
    for (const connection of this.#connections) connection.cut();
  }

  #admit(socket: Socket, destination: Destination): Connection | undefined {
    const { dialer, onBlocked } = this.#options;
    const isFull = this.#connections.size >= this.#limits.maxConnections;
    if (this.#isClosed || isFull || !dialer.admit()) {
      if (!this.#isClosed) onBlocked(destination, 'too-many-connections');
      reset(socket);
      return undefined;
    }
    const connection: Connection = new Connection(socket, () => {
      this.#connections.delete(connection);
      dialer.release();
    });
    this.#connections.add(connection);
    return connection;
  }

  /** The first byte decides which protocol the client speaks. */
  async #serveAtProxy(connection: Connection): Promise<void> {
    const first = new FirstBytes(connection.socket);
    connection.limit(this.#limits.firstByteMs);
    const [byte] = (await first.peek()) ?? [];
    connection.limit(this.#limits.openingMs);
    if (byte === socksVersion) {
      const request = await readSocksRequest(first, connection.socket);
      first.stop();
      if (request?.kind === 'connect') {
        const replies = { accepted: socksAccepted, refused: ({ reason }: Refusal) => socksRefusal(reason) };
        await this.#openTunnel(connection, request.host, request.port, replies);
      } else if (request) connection.end(request.farewell);
      else connection.cut();
      return;
    }
    first.stop();
    if (byte !== undefined && isLetter(byte)) this.#http.serve(connection);
    else connection.cut();
  }

  async #openTunnel(connection: Connection, host: string, port: number, replies: Replies): Promise<void> {
    connection.limit(undefined);
    // Reads from now on, so that a client that leaves is noticed while it waits.
    const first = new FirstBytes(connection.socket);
    const permitted = await this.#permit(connection, host, port);
    const isIntercepted = !isRefusal(permitted) && this.#isIntercepted(permitted);
    connection.isIntercepted = isIntercepted;
    const route = isIntercepted || isRefusal(permitted) ? permitted : await this.#dial(connection, permitted);
    if (connection.gone.aborted) return;
    if (isRefusal(route)) {
      first.stop();
      const farewell = replies.refused?.(route);
      if (farewell === undefined) connection.cut();
      else connection.end(farewell);
      return;
    }
    if (replies.accepted !== undefined) connection.socket.write(replies.accepted);
    if (!('upstream' in route)) {
      await this.#intercept(connection, first, route);
      return;
    }
    await tunnel(connection, first, route, {
      silentMs: this.#limits.silentMs,
      helloMs: this.#limits.openingMs,
      serveHttp: (one, to) => this.#http.serve(one, { destination: to.destination, ready: to }),
      onOtherName: (destination) => this.#options.onBlocked(destination, 'other-tls-name'),
    });
  }

  /** Connects to a destination when it is allowed, with TLS where the client spoke it to us. Refusals are noted. */
  async #reach(connection: Connection, hostText: string, port: number, isSecure: boolean): Promise<Route | Refusal> {
    const destination = await this.#permit(connection, hostText, port);
    if (isRefusal(destination)) return destination;
    const route = await this.#dial(connection, destination);
    if (isRefusal(route) || !isSecure) return route;
    const secured = await this.#interceptor.connect(destination, route.upstream);
    if (isRefusal(secured)) return this.#refused(connection, destination, secured);
    connection.lead(secured);
    return { destination, upstream: secured, transit: this.#interceptor.transitFor(this.#options.rules(), destination, true) };
  }

  /** The destination in its one spelling, when it is allowed. A refusal is noted. */
  async #permit(connection: Connection, hostText: string, port: number): Promise<Destination | Refusal> {
    const written = canonicalHost(hostText);
    if (written === undefined || port === 0) {
      const destination = { host: legible(hostText), port };
      this.#options.onBlocked(destination, 'malformed');
      return refusal('malformed', destination);
    }
    // A program that resolves names itself before it asks the proxy has an address of ours.
    const destination = { host: this.#names.hostAt(written) ?? written, port };
    connection.destination = destination;
    const refused = await this.#judge(connection, destination);
    return refused ? this.#refused(connection, destination, refused) : destination;
  }

  async #dial(connection: Connection, destination: Destination): Promise<Route | Refusal> {
    const { dialer, rules } = this.#options;
    const upstream = await dialer.dial(destination, { rules: rules(), signal: connection.gone, lookups: this.#lookups });
    if (!(upstream instanceof Socket)) return this.#refused(connection, destination, upstream);
    connection.lead(upstream);
    this.#noteAllowed(destination, { count: 1 });
    upstream.once('close', () => this.#noteAllowed(destination, { bytes: upstream.bytesRead + upstream.bytesWritten }));
    return { destination, upstream, transit: this.#interceptor.transitFor(rules(), destination, false) };
  }

  /** What no rule allows was allowed by an answer. Hosts that have secrets, and placeholders on their way to others, are always noted. */
  #noteAllowed(destination: Destination, part: Partial<AllowedConnection>): void {
    const rules = this.#options.rules();
    const decision = decide(rules, destination);
    const rule = decision.verdict === 'allowed' ? decision.rule.text : undefined;
    const isAboutSecrets = this.#isIntercepted(destination) || part.placeholders !== undefined;
    if (rule === undefined || rules.notesAllowed || isAboutSecrets)
      this.#options.onAllowed?.({ ...destination, count: 0, bytes: 0, secrets: [], placeholders: [], ...part, rule });
  }

  /** Notes a refusal, unless the client has left before. */
  #refused(connection: Connection, destination: Destination, refused: Refusal): Refusal {
    if (!connection.gone.aborted) this.#options.onBlocked(destination, refused.reason, refused.by);
    return refused;
  }

  #isIntercepted(destination: Destination): boolean {
    return isBound(this.#options.rules(), destination);
  }

  /** Security: a host that has secrets is spoken to in TLS that names it, and by nothing else. */
  async #intercept(connection: Connection, first: FirstBytes, destination: Destination): Promise<void> {
    connection.limit(this.#limits.openingMs);
    const beginning = await beginningOf(first, destination, () => undefined);
    first.stop();
    if (connection.gone.aborted) return;
    const reason = beginning === 'other-name' ? 'other-tls-name' : 'secret-needs-tls';
    if (beginning !== 'named') this.#refused(connection, destination, refusal(reason, destination));
    const secure = beginning === 'named' && (await this.#interceptor.accept(this.#options.rules(), destination.host, connection.socket));
    connection.limit(undefined);
    if (!secure) {
      connection.cut();
      return;
    }
    const inner: Connection = new Connection(secure, () => this.#intercepted.delete(inner));
    inner.destination = destination;
    inner.isIntercepted = true;
    inner.owner = connection.owner;
    inner.mark = connection.mark;
    this.#intercepted.add(inner);
    this.#http.serve(inner, { destination, isSecure: true });
  }

  /** Decides whether a destination is allowed. The connection waits, and may be gone before the answer. Nothing is resolved before it. */
  async #judge(connection: Connection, destination: Destination): Promise<Refusal | undefined> {
    const refused = this.#ruleRefusal(destination);
    if (refused?.reason !== 'unlisted' || !this.#asking || !isAskable(destination.host)) return refused;
    const answer = await this.#asking.decide(connection, destination);
    // The rules may have changed meanwhile.
    const now = this.#ruleRefusal(destination);
    if (now?.reason !== 'unlisted' || !answer) return now;
    return answer.allowed ? undefined : refusal(answer.reason, destination, answer.by);
  }

  #ruleRefusal(destination: Destination): Refusal | undefined {
    const rules = this.#options.rules();
    const { verdict } = decide(rules, destination);
    if (verdict === 'denied') return refusal('denied', destination);
    const { host } = destination;
    // An address that no rule could open says so, listed or not.
    const refused = isIP(host) === 0 ? undefined : this.#options.dialer.addressRefusal(host, destination, rules);
    return refused ?? (verdict === 'allowed' ? undefined : refusal('unlisted', destination));
  }

  /** Whether its address was allowed by an entry of `network.private` that is gone. */
  #upstreamRefusal({ upstream }: Connection, destination: Destination): Refusal | undefined {
    const address = upstream?.remoteAddress;
    return address === undefined ? undefined : this.#options.dialer.addressRefusal(address, destination, this.#options.rules());
  }
}

/** Security: nothing that happens on a connection ends the thread. */
function guard(connection: Connection, work: Promise<void>): void {
  work.catch(() => connection.cut());
}

function isLetter(byte: number): boolean {
  const folded = byte | 0x20;
  return folded >= 0x61 && folded <= 0x7a;
}

/** Security: a host that a program inside wrote, for messages and the log: no control characters, and not long. */
function legible(host: string): string {
  return host.slice(0, 64).replace(/[^\w.:-]/g, '?');
}
