import { hermetic } from '../../lib/own-command.ts';
import { printable } from '../../lib/printable.ts';
import { CallError } from '../call-error.ts';
import type { ChannelSetup, SetupValues } from '../setup.ts';
import { SlackClient } from './client.ts';
import { appTokenHint, botTokenHint, reasonOf, unusable } from './failures.ts';
import { appTokenName } from './link.ts';
import { botScopes, newAppAddress } from './manifest.ts';
import { recordOf } from './parse.ts';

export const setup: ChannelSetup = {
  steps: [
    `Make an app: open ${newAppAddress()} and choose your workspace.`,
    'On its page Basic Information, under App-Level Tokens, generate a token with the scope connections:write.',
    'On its page Install App, install it into your workspace, which shows the bot token.',
  ],
  fields: [
    {
      option: 'token_env',
      message: 'The bot token (xoxb-…), from the page OAuth & Permissions; of several workspaces with commas between them',
      problem: (tokens) =>
        tokens.split(',').every((token) => /^xoxb-[\w-]+$/.test(token.trim()))
          ? undefined
          : 'This is not a bot token of Slack: it begins with xoxb-.',
    },
    {
      option: 'app_token_env',
      message: 'The app-level token (xapp-…), from the page Basic Information',
      problem: (token) => (/^xapp-[\w-]+$/.test(token) ? undefined : 'This is not an app-level token of Slack: it begins with xapp-.'),
    },
  ],
  async check({ secret, options }) {
    const tokens = secret('token_env').split(',');
    const names: string[] = [];
    for (const token of tokens) names.push(await checkBot(token.trim(), options));
    await checkApp(secret('app_token_env'), options);
    return `The bot is ${names.join(', ')}. Invite it to channels with /invite.`;
  },
  next: `Write to your bot in Slack, under Apps: it gives you a code for ${hermetic} pairing approve.`,
};

async function checkBot(token: string, options: SetupValues['options']): Promise<string> {
  const client = new SlackClient({ token, apiRoot: options.api_root as string | undefined });
  try {
    const answer = await client.call<Record<string, unknown>>('auth.test');
    const { scopes } = recordOf(answer.response_metadata);
    // Not every server in between passes it on.
    const missing = Array.isArray(scopes) ? botScopes.filter((scope) => !scopes.includes(scope)) : [];
    if (missing.length > 0) {
      throw unusable(
        `The bot has not the scopes ${missing.join(', ')}.`,
        'Add them on the page OAuth & Permissions of your app, and install it again.',
      );
    }
    return printable(`${String(answer.user)} in ${String(answer.team)}`).slice(0, 200);
  } catch (error) {
    throw error instanceof CallError ? unusable(reasonOf(error), botTokenHint) : error;
  }
}

async function checkApp(token: string, options: SetupValues['options']): Promise<void> {
  try {
    await new SlackClient({ token, apiRoot: options.api_root as string | undefined }).call('apps.connections.open');
  } catch (error) {
    throw error instanceof CallError ? unusable(reasonOf(error, appTokenName), appTokenHint) : error;
  }
}
