import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { deleteCookie, setCookie } from 'hono/cookie';
import * as z from 'zod';
import { maxCarriedBytes } from '../core/channel.ts';
import { HermeticError } from '../core/errors.ts';
import { pageOwner } from '../core/sign-ins.ts';
import { within } from '../lib/deadline.ts';
import { errorText } from '../lib/error-text.ts';
import { oncePer } from '../lib/once-per.ts';
import { Rate } from '../lib/rate.ts';
import { minSecretCharacters } from '../lib/same-secret.ts';
import { Gatekeeper } from './auth.ts';
import { bodyOf, tooLarge } from './body.ts';
import { Followers } from './events.ts';
import {
  addressOf,
  cookieNames,
  type GuardParts,
  guardAll,
  guardOwn,
  guardProbe,
  isFromOwnPage,
  loginPath,
  refusal,
  securityHeaders,
  signInOf,
  tooMany,
  visitorOf,
  type Web,
} from './guard.ts';
import { takeLocalhost } from './localhost.ts';
import { builtPage } from './pages.ts';
import type { HttpLimits, HttpParts } from './parts.ts';
import { RefusedVisits } from './refused-visits.ts';
import { ownRoutes } from './routes.ts';
import { SignInWatch } from './sign-in-watch.ts';
import { refuseInTheClear, Site, type SiteOptions } from './site.ts';

export interface WebServerOptions extends SiteOptions {
  /** 0 is a free one. */
  port: number;
  /** Gives the rights of the owner. */
  token: string;
  /** Where the built page is. */
  pages: string;
  parts: HttpParts;
  /** Writes one sentence to the log of the gateway. */
  log: (sentence: string) => void;
  limits?: Partial<HttpLimits>;
  /** Why the program at the other end of a connection is refused, with any token. Asked once for each connection. */
  refusalOf?: (socket: Socket) => Promise<string | undefined>;
}

export interface WebServer {
  url: string;
  port: number;
  /** An address that lets one browser in, once, within a day. */
  newLink(): string;
  close(): Promise<void>;
}

const usualLimits: HttpLimits = {
  requestsPerMinute: 1200,
  failuresPerMinute: 10,
  maxFollowers: 64,
  maxJsonBytes: 256 * 1024,
  maxFileBytes: maxCarriedBytes,
  maxFollowedChats: 20,
  pingEveryMs: 15_000,
  beatEveryMs: 1000,
};

const login = z.union([z.strictObject({ code: z.string().max(100) }), z.strictObject({ token: z.string().max(500) })]);

/** Serves the page and the interface. Rejects when it may not or cannot listen there. */
export async function serveWeb(options: WebServerOptions): Promise<WebServer> {
  refuseInTheClear(options);
  refuseWeakToken(options.token);
  const limits = { ...usualLimits, ...options.limits };
  const { signIns } = options.parts;
  const keeper = new Gatekeeper(options.token, signIns);
  await keeper.start();
  const watch = new SignInWatch(signIns);
  const followers = new Followers(options.parts, limits, watch);
  let site: Site | undefined;
  const siteNow = (): Site => site ?? new Site(options, options.port);
  const guard: GuardParts = {
    site: siteNow,
    keeper,
    requests: new Rate(limits.requestsPerMinute),
    ownRequests: new Rate(limits.requestsPerMinute),
    failures: new Rate(limits.failuresPerMinute),
    trustForwarded: options.behindTls,
    refusalOf: loggedRefusal(options),
    refused: new RefusedVisits(signIns),
  };
  // Security: what comes after # is sent to no server and stands in no log; the page trades it for a cookie and removes it.
  const newLink = (): string => `${siteNow().url}#code=${keeper.newCode()}`;
  const app = appOf({ options, limits, guard, followers, watch, newLink });
  const listener = getRequestListener(app.fetch);
  const server = createServer({ headersTimeout: 10_000, requestTimeout: 120_000 }, (request, response) => void listener(request, response));
  server.listen(options.port, options.host);
  try {
    await once(server, 'listening');
  } catch (error) {
    const hint = 'Set web.port to another one, or to 0 for one that is free.';
    throw new HermeticError('config/bad-value', `The web page cannot listen on ${options.host} port ${options.port}: ${errorText(error)}`, {
      hint,
      cause: error,
    });
  }
  const { port } = server.address() as AddressInfo;
  const localhost = await takeLocalhost(server);
  site = new Site(options, port, localhost.isOurs);
  return {
    url: site.url,
    port,
    newLink,
    close: async () => {
      followers.close();
      server.closeIdleConnections();
      const closed = Promise.all([once(server, 'close'), localhost.close()]);
      server.close();
      // Running requests may end; an idle connection must not delay the stop.
      await within(1000, closed, () => {
        server.closeAllConnections();
        return closed;
      });
    },
  };
}

function loggedRefusal({ refusalOf, log }: WebServerOptions): GuardParts['refusalOf'] {
  return oncePer(async (socket) => {
    const why = await refusalOf?.(socket);
    if (why !== undefined) log(why);
    return why;
  });
}

/** Security: an empty variable must not let everybody in, and a short word could be guessed. */
function refuseWeakToken(token: string): void {
  if (token.length >= minSecretCharacters) return;
  throw new HermeticError('config/bad-value', `The token of the web page has fewer than ${minSecretCharacters} characters.`, {
    hint: 'Remove the variable that web.token_env names, and a token is made; or set it to what openssl rand -hex 32 prints.',
  });
}

interface AppParts {
  options: WebServerOptions;
  limits: HttpLimits;
  guard: GuardParts;
  followers: Followers;
  watch: SignInWatch;
  newLink: () => string;
}

function appOf({ options, limits, guard, followers, watch, newLink }: AppParts): Hono<Web> {
  const { parts } = options;
  const app = new Hono<Web>();
  app.onError((error, context) => failure(error, context, options.log));
  app.use(securityHeaders);
  // Not counted: a program that asks too much of this one must not get it restarted.
  const probes = { '/livez': parts.liveness, '/healthz': parts.liveness, '/readyz': parts.readiness } as const;
  for (const [path, ask] of Object.entries(probes)) {
    app.get(path, guardProbe(guard), async (context) => {
      const health = await ask();
      return context.json(health, health.ok ? 200 : 503);
    });
  }
  app.use(guardAll(guard));
  app.get('/metrics', guardOwn(guard), async (context) => {
    context.header('content-type', 'text/plain; version=0.0.4; charset=utf-8');
    return context.body(await parts.metrics());
  });
  app.post(loginPath, bodyLimit({ maxSize: 4096, onError: tooLarge }), (context) => logIn(context, guard));
  app.use('/api/*', guardOwn(guard));
  app.post('/api/logout', async (context) => {
    const signIn = signInOf(context);
    if (signIn) await parts.signIns.end(signIn.id, pageOwner, new Date());
    await watch.look();
    deleteCookie(context, plainName(context), { path: '/' });
    deleteCookie(context, cookieNames.encrypted, { path: '/', secure: true });
    return context.json({ ok: true });
  });
  app.route('/api', ownRoutes({ parts, limits, followers, watch, newLink }));
  app.route('/', builtPage(options.pages));
  app.notFound((context) => refusal(context, 404, 'There is nothing here.'));
  return app;
}

async function logIn(context: Context<Web>, guard: GuardParts): Promise<Response> {
  const { site, keeper, failures, trustForwarded, refusalOf, refused } = guard;
  // Security: another page must not let a browser in, not even with a code it has.
  if (!isFromOwnPage(context, site())) return refusal(context, 403, 'Only the page itself may log in.');
  const body = await bodyOf(context, login);
  if (body instanceof Response) return body;
  const visitor = visitorOf(context, trustForwarded);
  const why = keeper.isGood(body) ? await refusalOf(context.env.incoming.socket) : undefined;
  if (why !== undefined) {
    await refused.note(visitor, why);
    return refusal(context, 403, why);
  }
  // Security: the right one counts however many wrong ones came from the same address, which the owner may share with others.
  const cookie = await keeper.signIn(body, visitor);
  if (!cookie) {
    const wait = failures.take(addressOf(context, trustForwarded));
    if (wait > 0) return tooMany(context, wait);
    await refused.note(visitor, 'code' in body ? 'a link that was used or is too old' : 'a wrong token');
    return refusal(context, 401, 'code' in body ? 'This link was used already, or is too old.' : 'This is not the token.');
  }
  const isEncrypted = context.req.header('origin')?.startsWith('https:') ?? false;
  const common = { path: '/', httpOnly: true, sameSite: 'Strict', maxAge: cookie.seconds } as const;
  if (isEncrypted) setCookie(context, cookieNames.encrypted, cookie.value, { ...common, secure: true });
  else setCookie(context, plainName(context), cookie.value, common);
  return context.json({ ok: true });
}

/** Cookies know no ports: another gateway on this machine must not take its place. */
function plainName(context: Context<Web>): string {
  return `${cookieNames.plain}-${context.env.incoming.socket.localPort}`;
}

function failure(error: Error, context: Context<Web>, log: (sentence: string) => void): Response {
  if (error instanceof HermeticError && error.code === 'channel/busy') {
    context.header('retry-after', String(Math.ceil((error.retryAfterMs ?? 1000) / 1000)));
    return refusal(context, 503, error.message);
  }
  if (error instanceof HermeticError && error.code === 'channel/refused') return refusal(context, 409, error.message);
  log(`The web page could not be answered: ${error.message}`);
  return refusal(context, 500, 'Something went wrong. The log of the gateway says what.');
}
