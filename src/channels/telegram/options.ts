import { platformOptions } from '../driver.ts';

export const telegramOptions = platformOptions('Telegram', 'TELEGRAM_BOT_TOKEN', {});
