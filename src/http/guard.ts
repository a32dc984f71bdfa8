import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { HttpBindings } from '@hono/node-server';
import type { Context, MiddlewareHandler } from 'hono';
import { getCookie } from 'hono/cookie';
import { secureHeaders } from 'hono/secure-headers';
import type { PageVisitor, SignIn } from '../core/sign-ins.ts';
import type { Rate } from '../lib/rate.ts';
import type { Gatekeeper } from './auth.ts';
import { browserName } from './browser-name.ts';
import { clientNetwork } from './client-network.ts';
import type { RefusedVisits } from './refused-visits.ts';
import { isLoopback, type Site } from './site.ts';

export type Web = { Bindings: HttpBindings; Variables: { credentials?: Credentials } };

/** The signs of who makes a request. */
interface Credentials {
  isOwner: boolean;
  isAttempt: boolean;
  isBearer: boolean;
  /** Of its cookie. */
  signIn: SignIn | undefined;
}

export interface GuardParts {
  site: () => Site;
  keeper: Gatekeeper;
  /** By address, of those who show no valid token or cookie. */
  requests: Rate;
  ownRequests: Rate;
  failures: Rate;
  /** Takes the last address in X-Forwarded-For: the one the server in front of us has seen. */
  trustForwarded: boolean;
  /** Why the program at the other end of a connection may not use what is not for everybody. */
  refusalOf: (socket: Socket) => Promise<string | undefined>;
  /** Keeps records of those who are not let in. */
  refused: RefusedVisits;
}

const pageHeaders = secureHeaders({
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
    imgSrc: ["'self'", 'blob:'],
    connectSrc: ["'self'"],
    manifestSrc: ["'self'"],
    baseUri: ["'none'"],
    formAction: ["'none'"],
    frameAncestors: ["'none'"],
    requireTrustedTypesFor: ["'script'"],
    trustedTypes: ["'none'"],
  },
  permissionsPolicy: { camera: false, geolocation: false, microphone: false, payment: false, usb: false },
  strictTransportSecurity: false,
  xFrameOptions: 'DENY',
});

/** Sets the headers of every answer, also of refusals. A route may set its own content policy and caching. */
export const securityHeaders: MiddlewareHandler<Web> = async (context, next) => {
  let ownPolicy: string | null = null;
  await pageHeaders(context, async () => {
    await next();
    ownPolicy = context.res.headers.get('content-security-policy');
  });
  if (ownPolicy !== null) context.res.headers.set('content-security-policy', ownPolicy);
  if (!context.res.headers.has('cache-control')) context.res.headers.set('cache-control', 'no-store');
};

export const loginPath = '/api/login';

/**
 * For everything: not too often, by a name of ours, and by no page of another site. Security: others who come from the owner's address, such as
 * every user of this machine, use up nothing of the owner's.
 */
export function guardAll({ site, keeper, requests, ownRequests, trustForwarded }: GuardParts): MiddlewareHandler<Web> {
  const waitFor = async (context: Context<Web>): Promise<number> => {
    if ((await credentialsOf(context, keeper)).isOwner) return ownRequests.take('owner');
    // Whether it is the owner's is known when its content is read; what is wrong is counted there.
    return context.req.path === loginPath ? 0 : requests.take(addressOf(context, trustForwarded));
  };
  return async (context, next) => {
    const wait = await waitFor(context);
    if (wait > 0) return tooMany(context, wait);
    const host = context.req.header('host') ?? '';
    // Security: a page whose name was made to lead here must not pass for ours.
    if (!site().isOurs(host)) return refusal(context, 421, 'This server has another name. If it is behind one, set web.public_url.');
    const origin = context.req.header('origin');
    if (origin !== undefined && !site().isOwnPage(origin, host)) return refusal(context, 403, 'Pages of other sites may not use this.');
    return await next();
  };
}

/**
 * For routes of the owner. Security: the right token or cookie is let in however many wrong ones came from the same address,
 * which others may share. That tells a guesser nothing within reach: tokens are too long to be guessed.
 */
export function guardOwn({ site, keeper, failures, trustForwarded, refusalOf, refused }: GuardParts): MiddlewareHandler<Web> {
  return async (context, next) => {
    const { isOwner, isAttempt, isBearer } = await credentialsOf(context, keeper);
    if (!isOwner) {
      const wait = isAttempt ? failures.take(addressOf(context, trustForwarded)) : 0;
      if (wait > 0) return tooMany(context, wait);
      // A cookie that is good no more is what every browser has some day.
      if (isBearer) await refused.note(visitorOf(context, trustForwarded), 'a wrong token');
      context.header('www-authenticate', 'Bearer');
      return refusal(context, 401, 'A bearer token, or the cookie of this page, is needed.');
    }
    if (!isBearer && !isFromOwnPage(context, site())) return refusal(context, 403, 'Only the page itself may use its cookie.');
    const why = await refusalOf(context.env.incoming.socket);
    if (why === undefined) return await next();
    await refused.note(visitorOf(context, trustForwarded), why);
    return refusal(context, 403, why);
  };
}

/**
 * For programs that watch over this one: those of this machine, and others with the token. Security: a server in front
 * of us hands on what anybody asks, and a page may have a name that leads here.
 */
export function guardProbe(parts: GuardParts): MiddlewareHandler<Web> {
  const own = guardOwn(parts);
  return async (context, next) => {
    if (!isFromHere(context)) return await own(context, next);
    const why = await parts.refusalOf(context.env.incoming.socket);
    return why === undefined ? await next() : refusal(context, 403, why);
  };
}

const forwardingHeaders = /^(forwarded|via|x-forwarded|x-forwarded-.*|x-real-ip|.*-connecting-ip|true-client-ip)$/;

function isFromHere(context: Context<Web>): boolean {
  const { httpVersion, headers, socket } = context.env.incoming;
  const address = (socket.remoteAddress ?? '').replace(/^::ffff:/, '');
  const [, ipv6, name] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d+)?$/.exec(headers.host ?? '') ?? [];
  // A proxy that is told nothing names its own way here as the host, and most of those speak the old version.
  const isDirect = httpVersion !== '1.0' && !Object.keys(headers).some((header) => forwardingHeaders.test(header));
  return isLoopback(address) && isLoopback(ipv6 ?? name ?? '') && isDirect && !isOfPage(headers);
}

/** Security: a page of any site can have the browser of this machine ask, though it does not get to read the answer. */
function isOfPage({ origin, 'sec-fetch-site': site = 'none' }: IncomingHttpHeaders): boolean {
  return origin !== undefined || (site !== 'none' && site !== 'same-origin');
}

/** Found out once for a request. */
async function credentialsOf(context: Context<Web>, keeper: Gatekeeper): Promise<Credentials> {
  const known = context.get('credentials');
  if (known) return known;
  const bearer = bearerOf(context);
  const cookies = cookiesOf(context);
  let signIn: SignIn | undefined;
  if (bearer === undefined) for (const cookie of cookies) signIn ??= await keeper.signInOf(cookie);
  const isOwner = bearer === undefined ? signIn !== undefined : keeper.isToken(bearer);
  // A page that was never let in asks before it knows; that is no attempt.
  const found = { isOwner, isAttempt: bearer !== undefined || cookies.length > 0, isBearer: bearer !== undefined, signIn };
  context.set('credentials', found);
  return found;
}

/** The sign-in of the browser that asks; undefined when it is a program with the token. */
export function signInOf(context: Context<Web>): SignIn | undefined {
  return context.get('credentials')?.signIn;
}

export function visitorOf(context: Context<Web>, trustForwarded: boolean): PageVisitor {
  const address = remoteAddress(context, trustForwarded);
  const network = isLoopback(address) ? 'this machine' : clientNetwork(address);
  return { browser: browserName(context.req.header('user-agent') ?? ''), network };
}

/**
 * Security: a browser adds cookies to what other pages ask of us; pages on other ports of this machine count as the same site. What changes
 * something needs an origin, which no page can forge, and a header that no form can send.
 */
export function isFromOwnPage(context: Context<Web>, site: Site): boolean {
  const fetchSite = context.req.header('sec-fetch-site');
  if (fetchSite !== undefined && fetchSite !== 'same-origin' && fetchSite !== 'none') return false;
  if (context.req.method === 'GET' || context.req.method === 'HEAD') return true;
  const origin = context.req.header('origin');
  if (origin === undefined || !site.isOwnPage(origin, context.req.header('host') ?? '')) return false;
  return context.req.header('x-hermetic') === '1';
}

export function refusal(
  context: Context<Web>,
  status: 400 | 401 | 403 | 404 | 409 | 413 | 421 | 429 | 500 | 503,
  message: string,
): Response {
  return context.json({ error: message }, status);
}

export function tooMany(context: Context<Web>, seconds: number): Response {
  context.header('retry-after', String(seconds));
  return refusal(context, 429, `Too many requests. Try again in ${seconds} s.`);
}

export function addressOf(context: Context<Web>, trustForwarded: boolean): string {
  return clientNetwork(remoteAddress(context, trustForwarded));
}

function remoteAddress(context: Context<Web>, trustForwarded: boolean): string {
  const forwarded = trustForwarded ? context.req.header('x-forwarded-for')?.split(',').at(-1)?.trim() : undefined;
  return (forwarded || context.env.incoming.socket.remoteAddress || 'unknown').replace(/^::ffff:/, '');
}

/** The names under which the cookie may be: a browser keeps the one with the prefix only when it came encrypted. */
export const cookieNames = { plain: 'hermetic', encrypted: '__Host-hermetic' } as const;

function cookiesOf(context: Context<Web>): string[] {
  const port = context.env.incoming.socket.localPort;
  const names = [`${cookieNames.plain}-${port}`, cookieNames.encrypted];
  return names.map((name) => getCookie(context, name)).filter((value) => value !== undefined);
}

function bearerOf(context: Context<Web>): string | undefined {
  return /^Bearer +(\S+)$/i.exec(context.req.header('authorization') ?? '')?.[1];
}
