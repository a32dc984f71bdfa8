import { HermeticError } from '../../core/errors.ts';
import { hermetic } from '../../lib/own-command.ts';
import { CallError } from '../call-error.ts';
import type { ChannelSetup } from '../setup.ts';
import { BotClient } from './bot-client.ts';
import { isUnauthorised, reasonOf, tokenHint } from './failures.ts';
import { isToken } from './options.ts';

export const setup: ChannelSetup = {
  steps: ['Write /newbot to @BotFather on Telegram. It asks for a name, and gives you a token.'],
  fields: [
    {
      option: 'token_env',
      message: 'Its token, from @BotFather',
      problem: (token) => (isToken(token) ? undefined : 'This is not a Telegram bot token: a token has the form 123456:ABC-DEF.'),
    },
  ],
  async check({ secret, options }) {
    try {
      const client = new BotClient(secret('token_env'), options.api_root as string | undefined);
      const { username } = await client.call((api, signal) => api.getMe(signal));
      return `The bot is @${username}.`;
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      throw new HermeticError('channel/unusable', reasonOf(error), { hint: isUnauthorised(error) ? tokenHint : undefined });
    }
  },
  next: `Write to your bot: it gives you a code for ${hermetic} pairing approve.`,
};
