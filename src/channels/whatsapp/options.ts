import * as z from 'zod';
import { choice, markRestart, notes } from '../../lib/setting-kinds.ts';
import { platformOptions } from '../driver.ts';

export const whatsappOptions = platformOptions(
  'WhatsApp',
  {},
  {
    mode: choice(['bot', 'self'])
      .default('bot')
      .describe('bot: the account is the bot’s own. self: it is yours, and the bot answers in your chat with yourself only.'),
    pair_with: z
      .string()
      .regex(/^\+?[1-9]\d{5,14}$/)
      .register(notes, { expects: 'a phone number with its country code, such as "+491701234567"' })
      .optional()
      .describe('Links this account with a code instead of a QR code.'),
  },
);

markRestart(whatsappOptions as z.ZodObject, 'mode', 'pair_with');
