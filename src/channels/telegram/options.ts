import { platformOptions } from '../driver.ts';

export const telegramOptions = platformOptions('Telegram', { token_env: 'TELEGRAM_BOT_TOKEN' }, {});

/** Whether it has the form of a token. */
export function isToken(text: string): boolean {
  return /^\d+:[\w-]+$/.test(text);
}
