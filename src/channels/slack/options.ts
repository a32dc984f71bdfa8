import type { z } from 'zod';
import { flag, markRestart } from '../../lib/setting-kinds.ts';
import { platformOptions } from '../driver.ts';

export const slackOptions = platformOptions(
  'Slack',
  { token_env: 'SLACK_BOT_TOKEN', app_token_env: 'SLACK_APP_TOKEN' },
  {
    reply_in_thread: flag().default(true).describe('Answers a message that mentions it in a channel in the thread of that message.'),
  },
);

markRestart(slackOptions as z.ZodObject, 'reply_in_thread');
