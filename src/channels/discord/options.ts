import { flag, listOf, text } from '../../lib/setting-kinds.ts';
import { platformOptions } from '../driver.ts';

export const discordOptions = platformOptions(
  'Discord',
  { token_env: 'DISCORD_BOT_TOKEN' },
  {
    allowed_roles: listOf(text('an id as text, in quotes'), 'role ids, as text in quotes')
      .default([])
      .describe('Roles of a server whose members may talk there without pairing. They count in that server only.'),
    auto_thread: flag().default(false).describe('Answers a message in a channel of a server in a thread of its own.'),
  },
);
