import * as z from 'zod';
import { flag, markRestart, text, url, variableName, wholeNumber } from '../../lib/setting-kinds.ts';

export const webOptions = z
  .strictObject({
    enabled: flag().default(true).describe('Serves the web page and the HTTP interface.'),
    host: text('a host name or address').default('127.0.0.1').describe('Address to listen on.'),
    port: wholeNumber('a port', 0, 65535).default(8642).describe('Port to listen on; 0 takes a free one. The address is printed.'),
    token_env: variableName()
      .default('HERMETIC_TOKEN')
      .describe('Variable that holds the bearer token; when it is empty one is created on first start.'),
    behind_tls: flag().default(false).describe('A server with TLS is in front of it. Without that it listens nowhere but on this machine.'),
    public_url: url().optional().describe('Address people open, when that is not `web.host` and `web.port`.'),
  })
  .describe('The web page.');

markRestart(webOptions, 'enabled', 'host', 'port', 'token_env', 'behind_tls', 'public_url');
