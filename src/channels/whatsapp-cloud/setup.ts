import { hermetic } from '../../lib/own-command.ts';
import { CallError } from '../call-error.ts';
import type { ChannelSetup } from '../setup.ts';
import { GraphClient } from './client.ts';
import { reasonOf, unusable } from './failures.ts';
import { isToken } from './options.ts';
import { phoneNumberOf } from './watch.ts';

export const setup: ChannelSetup = {
  steps: [
    'Open developers.facebook.com/apps, make an app of the type Business, and add the product WhatsApp to it.',
    'On its page WhatsApp > API Setup, add a phone number, and copy its "Phone number ID", which is not the number itself.',
    'On business.facebook.com/settings/system-users, make a system user, give it the app and the WhatsApp account, and generate a token that never expires with the permission whatsapp_business_messaging.',
    'On the page App settings > Basic of the app, copy the "App secret".',
    'Think of a long random word, the verify token. You enter it here, and at Meta in the last step.',
    'Have a tunnel or a reverse proxy lead a public https address to port 8790 of this machine (whatsapp_cloud.webhook_port), and to nothing else.',
    'When the gateway runs, on the page WhatsApp > Configuration, enter that address with /whatsapp at its end and the verify token, and subscribe to "messages".',
  ],
  fields: [
    {
      option: 'phone_number_id',
      message: 'The "Phone number ID" from the page API Setup',
      problem: (id) => (/^\d{1,20}$/.test(id) ? undefined : 'This is not the id of a phone number: it is digits only.'),
    },
    {
      option: 'token_env',
      message: 'The token of the system user',
      problem: (token) => (isToken(token) ? undefined : 'This is not a token of Meta: it is letters and digits without spaces.'),
    },
    {
      option: 'app_secret_env',
      message: 'The app secret, from the page App settings > Basic',
      problem: (secret) => (/^[0-9a-f]{32}$/i.test(secret) ? undefined : 'This is not an app secret: it has 32 digits from 0 to f.'),
    },
    {
      option: 'verify_token_env',
      message: 'The verify token that you chose',
      problem: (token) => (/^[\x21-\x7e]{8,200}$/.test(token) ? undefined : 'Choose at least 8 letters and digits, without spaces.'),
    },
  ],
  async check({ secret, options }) {
    const client = new GraphClient(secret('token_env'), options.api_root as string | undefined);
    try {
      const { display_phone_number: number, verified_name: name } = await phoneNumberOf(client, String(options.phone_number_id));
      return `The number is ${number ?? 'unknown'}${name === undefined ? '' : `, called ${name}`}.`;
    } catch (error) {
      throw error instanceof CallError ? unusable(reasonOf(error)) : error;
    }
  },
  next: `Start the gateway, subscribe the webhook (the last step), and write to the number: it gives you a code for ${hermetic} pairing approve.`,
};
