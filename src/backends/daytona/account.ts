import { isIP } from 'node:net';
import { HermeticError } from '../../core/errors.ts';
import type { BackendContext } from '../context.ts';

/** How the API of Daytona is reached, and as whom. */
export interface DaytonaAccount {
  /** Without a slash at its end. */
  url: string;
  /** For people. */
  host: string;
  apiKey: string;
  organization: string | undefined;
}

const defaultUrl = 'https://app.daytona.io/api';

/** Throws when a variable is missing or wrong. Security: no message repeats a value but the address. */
export function accountIn(environment: BackendContext['environment']): DaytonaAccount {
  const { DAYTONA_API_KEY: apiKey, DAYTONA_API_URL: text = defaultUrl, DAYTONA_ORGANIZATION_ID: organization } = environment;
  if (!apiKey) {
    throw new HermeticError('backend/unavailable', 'The daytona backend is not configured: DAYTONA_API_KEY is not set.', {
      hint: 'Make an API key in the dashboard of Daytona, and put DAYTONA_API_KEY=… into .env.',
    });
  }
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !isSafe(url)) {
    throw new HermeticError('backend/unavailable', 'DAYTONA_API_URL is not an address that the key may be sent to.', {
      hint: `Write it as https://HOST/api, for example ${defaultUrl}. Only a server of this machine may be reached by http.`,
    });
  }
  return { url: url.href.replace(/\/+$/, ''), host: url.host, apiKey, organization: organization || undefined };
}

/** Security: the key travels with every request. */
function isSafe({ protocol, hostname, username, password, search, hash }: URL): boolean {
  if (username || password || search || hash) return false;
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'));
}
