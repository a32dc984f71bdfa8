import * as z from 'zod';
import { flag, listOf, markRestart, planned, text, url, variableName, wholeNumber } from '../kinds.ts';

function platform(name: string, tokenVariable: string, isPlanned = false) {
  return {
    enabled: flag()
      .default(false)
      .describe(isPlanned ? `${planned(`Connects to ${name}.`, 'such channel')} Nothing starts while it is true.` : `Connects to ${name}.`),
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

const discord = z.strictObject(platform('Discord', 'DISCORD_BOT_TOKEN', true)).describe(planned('Discord.', 'such channel'));

const slack = z
  .strictObject({
    ...platform('Slack', 'SLACK_BOT_TOKEN', true),
    app_token_env: variableName().default('SLACK_APP_TOKEN').describe('Variable that holds the app-level token for Socket Mode.'),
  })
  .describe(planned('Slack.', 'such channel'));

const whatsapp = z.strictObject(platform('WhatsApp', 'WHATSAPP_TOKEN', true)).describe(planned('WhatsApp.', 'such channel'));

const signal = z
  .strictObject({
    ...platform('Signal', 'SIGNAL_TOKEN', true),
    account: text('a phone number as text, in quotes').optional().describe('Phone number the signal-cli daemon is registered with.'),
  })
  .describe(planned('Signal, through a signal-cli daemon at `signal.api_root`.', 'such channel'));

/** By the name under which a platform is known everywhere. */
export const platforms = { telegram, discord, slack, whatsapp, signal };

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
