import type { IncomingMessage } from 'node:http';
import type { Site } from './registries.ts';
import { type TokenName, tokens } from './tokens.ts';

/** Makes a site answer only requests with its token: as the password of Basic, as Bearer, or alone, as cargo sends it. */
export function guarded(site: Site, name: TokenName): Site {
  return (request, response, path) => {
    if (hasToken(request, name)) return site(request, response, path);
    response.writeHead(401, { 'www-authenticate': 'Basic realm="world"' });
    response.end('a token is needed\n');
  };
}

export function hasToken({ headers }: IncomingMessage, name: TokenName): boolean {
  if (headers.authorization === tokens[name]) return true;
  const [scheme, credential = ''] = (headers.authorization ?? '').split(/ (.*)/);
  if (scheme === 'Bearer') return credential === tokens[name];
  const user = Buffer.from(credential, 'base64').toString('latin1');
  return scheme === 'Basic' && user.slice(user.indexOf(':') + 1) === tokens[name];
}
