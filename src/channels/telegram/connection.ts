import type { z } from 'zod';
import { HermeticError } from '../../core/errors.ts';
import type { ChannelContext } from '../context.ts';
import type { Connection } from '../platform-channel.ts';
import { BotClient } from './bot-client.ts';
import { isToken, type telegramOptions } from './options.ts';
import { introduce, Poll } from './poll.ts';
import { Speaker } from './speaker.ts';

export function connect(
  { secret, log, commands = [], deliveries }: ChannelContext,
  { api_root: apiRoot, calls_per_second: callsPerSecond }: z.output<typeof telegramOptions>,
): Connection {
  const token = secret('token_env');
  if (!isToken(token)) {
    const hint = 'A token has the form 123456:ABC-DEF and comes from @BotFather. Put it into the variable named by telegram.token_env.';
    throw new HermeticError('channel/unusable', 'This is not a Telegram bot token.', { hint });
  }
  const client = new BotClient(token, apiRoot, callsPerSecond);
  return {
    speaker: new Speaker(client),
    async listen(accept, health, signal) {
      const self = await introduce(client, health, signal);
      const poll = new Poll({ client, accept, health, log, commands, deliveries }, self, signal);
      return { ended: poll.run() };
    },
  };
}
