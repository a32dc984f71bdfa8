import { markRestart, wholeNumber } from '../../lib/setting-kinds.ts';
import { platformOptions } from '../driver.ts';
import { usualCallsPerSecond } from './limits.ts';

export const telegramOptions = platformOptions(
  'Telegram',
  { token_env: 'TELEGRAM_BOT_TOKEN' },
  {
    calls_per_second: wholeNumber('a whole number', 1, 1000)
      .default(usualCallsPerSecond)
      .describe('As many calls a second as Telegram takes of this bot. Lower it when another program sends with the same bot.'),
  },
);
markRestart(telegramOptions, 'calls_per_second');

/** Whether it has the form of a token. */
export function isToken(text: string): boolean {
  return /^\d+:[\w-]+$/.test(text);
}
