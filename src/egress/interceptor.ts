import { once } from 'node:events';
import { isIP, type Socket } from 'node:net';
import { connect, createSecureContext, type SecureContext, TLSSocket } from 'node:tls';
import type { BoundSecret, Destination, EgressRules, Vault } from '../core/egress.ts';
import { settlesWithin } from '../lib/deadline.ts';
import { isFor } from './bound-secret.ts';
import { HostCertificates } from './certificates.ts';
import { type Refusal, refusal } from './refusal.ts';
import { Scrubber } from './scrubber.ts';
import { Transit } from './transit.ts';
import { trustedRoots } from './trust-files.ts';

/** Old enough to be replaced: certificates of hosts are valid for 30 days. */
const renewMs = 7 * 24 * 60 * 60 * 1000;
const maxContexts = 500;
const handshakeMs = 20_000;

const protocols = { ALPNProtocols: ['http/1.1'], minVersion: 'TLSv1.2' } as const;

/** Ends TLS at the hosts that have secrets, and nowhere else. Shared by all sessions of the thread. */
export class Interceptor {
  readonly #roots: () => string[];
  #vault: Vault | undefined;
  #certificates: HostCertificates | undefined;
  /** By host, with the time when each was made. */
  readonly #contexts = new Map<string, { context: SecureContext; madeAt: number }>();
  #trust: SecureContext | undefined;
  /** By host. */
  readonly #scrubbers = new WeakMap<Vault, Map<string, Scrubber>>();

  /** `roots`: the authorities that hosts are verified by, unless a test has its own. */
  constructor(roots = trustedRoots) {
    this.#roots = roots;
  }

  /** For the requests to one destination. Undefined without secrets. Security: values are put in over verified TLS alone. */
  transitFor({ vault }: EgressRules, destination: Destination, isSecure: boolean): Transit | undefined {
    if (!vault) return undefined;
    const { secrets: all } = vault;
    const bound = isSecure ? all.filter((secret) => isFor(secret, destination)) : undefined;
    // Security: at any of its ports, because a value that went to one of them may come back from another.
    const ofHost = all.filter(({ destinations }) => destinations.some(({ host }) => host === destination.host));
    return new Transit({ bound, ofHost, all, scrubber: this.#scrubberFor(vault, destination.host, ofHost) });
  }

  #scrubberFor(vault: Vault, host: string, secrets: readonly BoundSecret[]): Scrubber | undefined {
    const known = this.#scrubbers.get(vault) ?? new Map<string, Scrubber>();
    this.#scrubbers.set(vault, known);
    if (secrets.length > 0 && !known.has(host)) known.set(host, new Scrubber(secrets));
    return known.get(host);
  }

  /** Ends the TLS of a client that has named this host. Undefined when the handshake fails. */
  async accept({ vault }: EgressRules, host: string, socket: Socket): Promise<TLSSocket | undefined> {
    if (!vault) return undefined;
    const secure = new TLSSocket(socket, { isServer: true, secureContext: this.#contextFor(vault, host), ...protocols });
    return await established(secure, 'secure');
  }

  /** TLS to the host over a connection to it. Security: its certificate must be valid for this host; nothing is sent before. */
  async connect(destination: Destination, socket: Socket): Promise<TLSSocket | Refusal> {
    this.#trust ??= createSecureContext({ ca: this.#roots() });
    const { host } = destination;
    const name = isIP(host) === 0 ? { servername: host } : { host };
    const secure = connect({ socket, secureContext: this.#trust, ...name, ...protocols, rejectUnauthorized: true });
    return (await established(secure, 'secureConnect')) ?? refusal('unverified-certificate', destination);
  }

  #contextFor(vault: Vault, host: string): SecureContext {
    if (this.#vault?.authority.key !== vault.authority.key) {
      this.#certificates = undefined;
      this.#contexts.clear();
    }
    this.#vault = vault;
    const known = this.#contexts.get(host);
    if (known && Date.now() - known.madeAt < renewMs) return known.context;
    this.#certificates ??= new HostCertificates(vault.authority);
    const { certificate, key } = this.#certificates.for(host);
    const context = createSecureContext({ cert: certificate, key });
    const [oldest] = this.#contexts.keys();
    if (this.#contexts.size >= maxContexts && oldest !== undefined) this.#contexts.delete(oldest);
    this.#contexts.set(host, { context, madeAt: Date.now() });
    return context;
  }
}

/** Undefined when the handshake fails or takes too long; the socket is destroyed then. */
async function established(socket: TLSSocket, event: 'secure' | 'secureConnect'): Promise<TLSSocket | undefined> {
  const failed = new AbortController();
  socket.on('error', () => failed.abort());
  socket.once('close', () => failed.abort());
  const done = once(socket, event, { signal: failed.signal }).then(
    () => true,
    () => false,
  );
  await settlesWithin(handshakeMs, done);
  failed.abort();
  if (await done) return socket;
  socket.destroy();
  return undefined;
}
