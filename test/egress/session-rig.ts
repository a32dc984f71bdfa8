import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { BlockedConnection, EgressRules, HostRule, Vault } from '../../src/core/egress.ts';
import { AllowedList } from '../../src/egress/allowed-list.ts';
import { isBound } from '../../src/egress/bound-secret.ts';
import { Dialer, type DialerOptions } from '../../src/egress/dial.ts';
import { Interceptor } from '../../src/egress/interceptor.ts';
import { parseDenyRule, parseHostRule, parsePrivateRule } from '../../src/egress/rules.ts';
import { SessionEgress, type SessionEgressOptions } from '../../src/egress/session-egress.ts';
import type { Lookup } from '../../src/egress/system-lookup.ts';

/** For api.test and other.test, signed by itself. */
export const testCertificate = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgWXmllGhs8PpCbRmv
PSPHY2B0sQV8VCx+Vgj13zyQQRShRANCAATmvn7ftIRYVn6IFW5ZPan5I7bUvTS2
2cZvZW81hnw1suwcPP3sfHg+/EP4Tgxn11RQyuCKi/Ef3Uc2VqYoHDB9
-----END PRIVATE KEY-----
`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBnjCCAUSgAwIBAgIUJDRzwKOr4+Y0AoOpyjGFIy8/ijQwCgYIKoZIzj0EAwIw
EzERMA8GA1UEAwwIYXBpLnRlc3QwIBcNMjYxMTE2MTkyNDMzWhgPMjEyNjEwMjMx
OTI0MzNaMBMxETAPBgNVBAMMCGFwaS50ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAE5r5+37SEWFZ+iBVuWT2p+SO21L00ttnGb2VvNYZ8NbLsHDz97Hx4PvxD
+E4MZ9dUUMrgiovxH91HNlamKBwwfaN0MHIwHQYDVR0OBBYEFOwTzNIGvAPL+HZs
dIDWZfwncuoBMB8GA1UdIwQYMBaAFOwTzNIGvAPL+HZsdIDWZfwncuoBMA8GA1Ud
EwEB/wQFMAMBAf8wHwYDVR0RBBgwFoIIYXBpLnRlc3SCCm90aGVyLnRlc3QwCgYI
KoZIzj0EAwIDSAAwRQIhAI2S7oIpz245mYKSX2fiv6jfEoNr184+uw1BbRigAYXT
AiAJoLW4r1hcBJkNUPcSja0GM/34gNue/W3i6qoC5gpGNw==
-----END CERTIFICATE-----
`,
};

export function rulesOf(allow: string[], deny: string[] = [], privateRules: string[] = []): EgressRules {
  const read = <Rule>(texts: string[], parse: (text: string) => Rule | string): Rule[] =>
    texts.map((text) => {
      const rule = parse(text);
      if (typeof rule === 'string') throw new Error(rule);
      return rule;
    });
  return {
    allow: read<HostRule>(allow, parseHostRule),
    deny: read<HostRule>(deny, parseDenyRule),
    private: read(privateRules, parsePrivateRule),
    directPorts: [22, 443],
    notesAllowed: false,
  };
}

/** Dials the test server of a port instead of the port. */
class RigDialer extends Dialer {
  readonly ports = new Map<number, number>();

  override async dial(...[destination, parts]: Parameters<Dialer['dial']>): ReturnType<Dialer['dial']> {
    return await super.dial({ ...destination, port: this.ports.get(destination.port) ?? destination.port }, parts);
  }
}

export interface RigOptions {
  allow?: string[];
  deny?: string[];
  private?: string[];
  /** Addresses of names; every other name has 127.0.0.1. */
  hosts?: Record<string, string[]>;
  /** Instead of `hosts`. */
  lookup?: Lookup;
  dialer?: Omit<DialerOptions, 'lookup'>;
  limits?: SessionEgressOptions['limits'];
  vault?: Vault;
  /** The authorities of its hosts. */
  roots?: string[];
  asking?: SessionEgressOptions['asking'];
}

/** A session whose proxy listens on a loopback port, with its hosts on loopback too. */
export class SessionRig {
  readonly session: SessionEgress;
  readonly blocked: Omit<BlockedConnection, 'count'>[] = [];
  readonly allowed = new AllowedList((destination) => isBound(this.rules, destination));
  readonly lookups: string[] = [];
  readonly dialer: RigDialer;
  rules: EgressRules;
  readonly #proxy: Server;
  readonly #byName: Server;
  /** The port that programs inside mean when they connect by name. */
  #directPort = 443;
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();

  constructor({
    allow = [],
    deny = [],
    private: privateRules = [],
    hosts = {},
    lookup,
    dialer,
    limits,
    vault,
    roots = [],
    asking,
  }: RigOptions) {
    this.rules = { ...rulesOf(allow, deny, privateRules), vault };
    this.dialer = new RigDialer({
      // The hosts of the tests are on loopback. Everything else is judged as in the product.
      classify: (address) => (address === '127.0.0.1' ? 'public' : 'special'),
      ...dialer,
      lookup: async (host, signal) => {
        this.lookups.push(host);
        if (lookup) return await lookup(host, signal);
        const addresses = hosts[host] ?? ['127.0.0.1'];
        if (addresses.length === 0) throw new Error('no such host');
        return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
      },
    });
    this.session = new SessionEgress({
      rules: () => this.rules,
      onBlocked: ({ host, port }, reason) => this.blocked.push({ host, port, reason }),
      onAllowed: (connection) => this.allowed.add(connection),
      asking,
      dialer: this.dialer,
      interceptor: new Interceptor(() => roots),
      ...(limits && { limits }),
    });
    this.#proxy = this.#track(createServer({ allowHalfOpen: true }, (socket) => this.session.acceptAtProxy(socket)));
    this.#byName = this.#track(
      createServer((socket) => {
        Object.defineProperty(socket, 'localPort', { value: this.#directPort });
        this.session.acceptByName(socket);
      }),
    );
  }

  get proxyPort(): number {
    return portOf(this.#proxy);
  }

  async start(): Promise<this> {
    await listen(this.#proxy, '127.0.0.1');
    await listen(this.#byName, '0.0.0.0');
    return this;
  }

  /** Puts a server behind a port of every host. */
  async serve(port: number, server: Server): Promise<void> {
    this.#track(server);
    await listen(server, '127.0.0.1');
    this.dialer.ports.set(port, portOf(server));
  }

  /** A connection to the proxy. */
  async connect(): Promise<Peer> {
    return await this.#peer(connect({ port: this.proxyPort, host: '127.0.0.1', allowHalfOpen: true, noDelay: true }));
  }

  /** A connection to a name, by the address that the resolver inside gives for it. */
  async connectByName(host: string, port: number): Promise<Peer> {
    this.#directPort = port;
    const address = addressIn(this.session.answerQuery(queryFor(host)));
    return await this.#peer(connect({ port: portOf(this.#byName), host: address, allowHalfOpen: true, noDelay: true }));
  }

  async connectToAddress(address: string): Promise<Peer> {
    return await this.#peer(connect({ port: portOf(this.#byName), host: address }));
  }

  /** A tunnel through CONNECT, and the status line of its answer. */
  async tunnel(authority: string): Promise<{ peer: Peer; status: string }> {
    const peer = await this.connect();
    peer.socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
    const head = await peer.until('\r\n\r\n');
    return { peer, status: head.split('\r\n')[0] ?? '' };
  }

  /** Applies other rules at once. */
  change({ allow = [], deny = [] }: Pick<RigOptions, 'allow' | 'deny'>): void {
    this.rules = { ...this.rules, ...rulesOf(allow, deny) };
    this.session.rulesChanged();
  }

  async stop(): Promise<void> {
    this.session.close();
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(this.#servers.map((server) => new Promise((resolve) => server.close(resolve))));
  }

  async #peer(socket: Socket): Promise<Peer> {
    this.#sockets.add(socket);
    const peer = new Peer(socket);
    // A reset can come before Node has told of the connection.
    await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
    return peer;
  }

  #track(server: Server): Server {
    this.#servers.push(server);
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
    });
    return server;
  }
}

/** A program inside, and what it has received. */
export class Peer {
  readonly socket: Socket;
  #received = Buffer.alloc(0);
  /** Bytes that `until` has handed out. */
  #taken = 0;
  #error: string | undefined;
  readonly #changed: (() => void)[] = [];

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#error = error.code;
    });
    socket.on('data', (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk]);
    });
    for (const event of ['data', 'end', 'close']) {
      socket.on(event, () => {
        for (const wake of this.#changed.splice(0)) wake();
      });
    }
  }

  get text(): string {
    return this.#received.toString('latin1');
  }

  /** The next bytes, up to the end of `mark`. */
  async until(mark: string): Promise<string> {
    for (;;) {
      const rest = this.text.slice(this.#taken);
      const at = rest.indexOf(mark);
      if (at >= 0) {
        this.#taken += at + mark.length;
        return rest.slice(0, at + mark.length);
      }
      if (this.socket.readableEnded || this.socket.destroyed) throw new Error(`ended before ${JSON.stringify(mark)}: ${this.text}`);
      await this.#change();
    }
  }

  /** Everything, once the other side has ended. */
  async ended(): Promise<string> {
    while (!this.socket.readableEnded && !this.socket.destroyed) await this.#change();
    return this.text;
  }

  /** How the connection was closed: `reset`, or `end`. */
  async closed(): Promise<'reset' | 'end'> {
    while (!this.socket.readableEnded && !this.socket.destroyed) await this.#change();
    return this.#error === 'ECONNRESET' || this.#error === 'EPIPE' ? 'reset' : 'end';
  }

  async #change(): Promise<void> {
    await new Promise<void>((resolve) => this.#changed.push(resolve));
  }
}

function queryFor(host: string): Buffer {
  const labels = host.split('.').flatMap((label) => [label.length, ...Buffer.from(label)]);
  return Buffer.from([0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...labels, 0, 0, 1, 0, 1]);
}

function addressIn(answer: Buffer | undefined): string {
  if (!answer) throw new Error('no answer');
  return [...answer.subarray(-4)].join('.');
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

async function listen(server: Server, host: string): Promise<void> {
  server.listen(0, host);
  await once(server, 'listening');
}
