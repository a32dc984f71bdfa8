import * as z from 'zod';
import { flag, listOf, markRestart, text, url, variableName, wholeNumber } from '../kinds.ts';

function platform(name: string, tokenVariable: string) {
  return {
    enabled: flag().default(false).describe(`Connects to ${name}.`),
    token_env: variableName().default(tokenVariable).describe('Variable that holds the token.'),
    allowed_users: listOf(text('an id as text, in quotes'), 'user ids, as text in quotes')
      .default([])
      .describe('Who may talk without pairing. Empty is nobody.'),
    admins: listOf(text('an id as text, in quotes'), 'user ids, as text in quotes')
      .default([])
      .describe('Who may talk and also answer for others, let people in and choose the model.'),
    allow_all: flag().default(false).describe('Lets everybody talk.'),
    require_mention: flag().default(true).describe('In groups, listens only to messages that mention it.'),
    api_root: url().optional().describe("A local server to talk to; unset is the platform's own."),
  };
}

const telegram = z.strictObject(platform('Telegram', 'TELEGRAM_BOT_TOKEN')).describe('Telegram.');

/** By the name under which a platform is known everywhere. */
export const platforms = { telegram };

for (const section of Object.values(platforms)) markRestart(section, 'enabled', 'token_env', 'api_root');

export const platformNames = Object.keys(platforms) as (keyof typeof platforms)[];

export const web = z
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

markRestart(web, 'enabled', 'host', 'port', 'token_env', 'behind_tls', 'public_url');
