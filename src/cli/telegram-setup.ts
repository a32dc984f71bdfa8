import { changeKeys } from '../config/edit.ts';
import type { LoadedConfig } from '../config/load.ts';
import { saveSecret } from '../config/secrets-file.ts';
import { HermeticError } from '../core/errors.ts';

/** The bot's name. Rejects with Telegram's message. */
export async function tryTelegram({ config }: LoadedConfig, token: string): Promise<string> {
  const { BotClient } = await import('../channels/telegram/bot-client.ts');
  const { CallError, reasonOf, tokenHint } = await import('../channels/telegram/failures.ts');
  if (!/^\d+:[\w-]+$/.test(token)) {
    throw new HermeticError('channel/unusable', 'This is not a Telegram bot token: a token has the form 123456:ABC-DEF.', {
      hint: tokenHint,
    });
  }
  try {
    const { username } = await new BotClient(token, config.telegram.api_root).call((api, signal) => api.getMe(signal));
    return username;
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    throw new HermeticError('channel/unusable', reasonOf(error), { hint: tokenHint });
  }
}

export function saveTelegram({ files, config }: LoadedConfig, token: string): void {
  saveSecret(files.dotenv, config.telegram.token_env, token);
  changeKeys(files.config, { 'telegram.enabled': 'true' });
}
