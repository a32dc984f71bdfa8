import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { createMcpHandler, type McpServer } from '@modelcontextprotocol/server';
import { HermeticError } from '../core/errors.ts';
import { oncePer } from '../lib/once-per.ts';
import { Rate } from '../lib/rate.ts';
import { isSameSecret, minSecretCharacters } from '../lib/same-secret.ts';

export interface HttpOptions {
  /** 0 is a free one. */
  port: number;
  /** Lets a client use the tools; at least 32 characters. */
  token: string;
  /** Every request has a server of its own. */
  makeServer(): McpServer;
  /** Why the program at the other end of a connection is refused, with any token. Asked once for each connection. */
  refusalOf?: (socket: Socket) => Promise<string | undefined>;
}

export interface ServedHttp {
  url: string;
  close(): Promise<void>;
}

/** As many at once. */
const maxGuessesPerMinute = 10;
const host = '127.0.0.1';
const path = '/mcp';

/** Serves MCP over HTTP, on loopback only, to clients with the token. */
export async function serveHttp({ port, token, makeServer, refusalOf }: HttpOptions): Promise<ServedHttp> {
  refuseWeakToken(token);
  const guesses = new Rate(maxGuessesPerMinute);
  const handler = createMcpHandler(makeServer);
  const names = new Set<string>();
  const peerRefusal = oncePer(async (socket: Socket) => await refusalOf?.(socket));
  const listener = getRequestListener(async (request, { incoming }) => {
    const refusal = requestRefusal(request, { token, names, guesses }) ?? forbidden(await peerRefusal(incoming.socket));
    return refusal ? new Response(`${refusal.why}\n`, { status: refusal.status, headers: refusal.headers }) : await handler.fetch(request);
  });
  const server = createServer((request, response) => void listener(request, response));
  server.listen(port, host);
  await once(server, 'listening').catch((error: Error) => {
    throw new HermeticError('usage/bad-argument', `${host} port ${port} cannot be listened on: ${error.message}.`, {
      hint: 'Choose another port; 0 is a free one.',
      cause: error,
    });
  });
  const { port: bound } = server.address() as AddressInfo;
  for (const name of [host, 'localhost']) names.add(`${name}:${bound}`);
  return {
    url: `http://${host}:${bound}${path}`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Security: a word that can be guessed lets everybody on this machine run commands in the session. */
function refuseWeakToken(token: string): void {
  if (token.length >= minSecretCharacters) return;
  throw new HermeticError('config/bad-value', `HERMETIC_MCP_TOKEN has fewer than ${minSecretCharacters} characters.`, {
    hint: 'Unset it, and a token is made and printed; or set it to what openssl rand -hex 32 prints.',
  });
}

interface Door {
  token: string;
  names: ReadonlySet<string>;
  /** Wrong tokens. */
  guesses: Rate;
}

interface Refusal {
  status: number;
  why: string;
  headers: Record<string, string>;
}

/** Security: refuses a page in a browser of this machine, under any host name, and every client without the token. */
function requestRefusal(request: Request, { token, names, guesses }: Door): Refusal | undefined {
  if (!names.has(request.headers.get('host') ?? '')) return { status: 421, why: 'This server has another name.', headers: {} };
  const origin = request.headers.get('origin');
  if (origin !== null && !names.has(origin.replace(/^https?:\/\//, '')))
    return { status: 403, why: 'Pages of other sites may not use this.', headers: {} };
  const given = /^Bearer (.+)$/i.exec(request.headers.get('authorization') ?? '')?.[1] ?? '';
  if (!isSameSecret(given, token)) return refusedGuess(guesses);
  if (new URL(request.url).pathname !== path) return { status: 404, why: `Only ${path} is here.`, headers: {} };
  return undefined;
}

function forbidden(why: string | undefined): Refusal | undefined {
  return why === undefined ? undefined : { status: 403, why, headers: {} };
}

/** Security: guesses are slowed for all clients together and never keep out a client with the token. After too many, each guess needs its own connection. */
function refusedGuess(guesses: Rate): Refusal {
  const wait = guesses.take('all');
  if (wait === 0) return { status: 401, why: 'A bearer token is needed.', headers: { 'www-authenticate': 'Bearer' } };
  const headers = { 'retry-after': String(wait), connection: 'close' };
  return { status: 429, why: `Too many wrong tokens. Try again in ${wait} s.`, headers };
}
