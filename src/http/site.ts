import { isIPv4, isIPv6 } from 'node:net';
import { HermeticError } from '../core/errors.ts';

export interface SiteOptions {
  host: string;
  /** Something in front of us encrypts. */
  behindTls: boolean;
  /** Where people find it, when that is not where it listens. */
  publicUrl: string | undefined;
}

/** Under which names this server is meant, and which pages are its own. */
export class Site {
  readonly #options: SiteOptions;
  readonly #origins = new Set<string>();
  readonly #hosts = new Set<string>();
  readonly url: string;

  /** `isLocalhost`: this name leads here and to no other program. Browsers have passkeys for names only. */
  constructor(options: SiteOptions, port: number, isLocalhost = false) {
    this.#options = options;
    const own = isLocalhost ? `http://localhost:${port}` : addressOf(options.host, port);
    if (isLoopback(options.host)) this.#add(addressOf(options.host, port));
    for (const name of ['127.0.0.1', 'localhost', '[::1]']) this.#add(`http://${name}:${port}`);
    if (options.publicUrl !== undefined) this.#add(new URL(options.publicUrl).origin);
    this.url = options.publicUrl === undefined ? `${own}/` : `${new URL(options.publicUrl).origin}/`;
  }

  isOurs(host: string): boolean {
    return this.#hosts.has(host) || this.#takesAnyName;
  }

  /** `host` is what the request was sent to. */
  isOwnPage(origin: string, host: string): boolean {
    // Security: where the name is not known the page must have come encrypted, and from the name it talks to.
    return this.#origins.has(origin) || (this.#takesAnyName && origin === `https://${host}`);
  }

  get #takesAnyName(): boolean {
    return this.#options.behindTls && this.#options.publicUrl === undefined;
  }

  #add(origin: string): void {
    this.#origins.add(origin);
    this.#hosts.add(new URL(origin).host);
    // A browser leaves out the port that goes without saying; others may not.
    if (new URL(origin).port === '') this.#hosts.add(`${new URL(origin).host}:${origin.startsWith('https:') ? 443 : 80}`);
  }
}

function addressOf(host: string, port: number): string {
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/** Throws when tokens and messages would cross a network without TLS. */
export function refuseInTheClear({ host, behindTls }: SiteOptions): void {
  if (isLoopback(host) || behindTls) return;
  throw new HermeticError('config/bad-value', `web.host is ${host}: anyone on the network could read the traffic.`, {
    hint: 'Set web.host to 127.0.0.1, or put a server with TLS in front and set web.behind_tls to true.',
  });
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}
