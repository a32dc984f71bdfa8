import * as z from 'zod';
import { markRestart, notes, text, wholeNumber } from '../../lib/setting-kinds.ts';
import { platformOptions } from '../driver.ts';

/** As text or as a number: it is written without quotes more often than not. */
function phoneNumberId() {
  return z
    .union([z.string().regex(/^\d{1,20}$/), z.int().positive()])
    .transform(String)
    .register(notes, { expects: 'the id of a phone number, which is digits' });
}

export const whatsAppCloudOptions = platformOptions(
  'WhatsApp Cloud',
  {
    token_env: 'WHATSAPP_CLOUD_TOKEN',
    app_secret_env: 'WHATSAPP_CLOUD_APP_SECRET',
    verify_token_env: 'WHATSAPP_CLOUD_VERIFY_TOKEN',
  },
  {
    phone_number_id: phoneNumberId()
      .optional()
      .describe('The id of the phone number that people write to, from the page API Setup of the app.'),
    webhook_host: text('an address of this machine')
      .default('127.0.0.1')
      .describe('Address to listen at for what Meta delivers. A tunnel or a reverse proxy with https leads there.'),
    webhook_port: wholeNumber('a port', 1, 65_535).default(8790).describe('Port to listen at for what Meta delivers.'),
    webhook_path: z
      .string()
      .regex(/^\/[\w./~-]*$/)
      .register(notes, { expects: 'a path that begins with /, of letters, digits and . _ ~ - /' })
      .default('/whatsapp')
      .describe('Path of the address that Meta delivers to.'),
  },
);
markRestart(whatsAppCloudOptions, 'phone_number_id', 'webhook_host', 'webhook_port', 'webhook_path');

/** Whether it can be a token: it becomes part of a header. */
export function isToken(text: string): boolean {
  return /^[\w.|-]{20,1000}$/.test(text);
}
