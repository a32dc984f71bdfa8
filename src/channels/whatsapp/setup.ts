import type { ChannelSetup } from '../setup.ts';
import { baileysVersion, loadBaileys } from './baileys.ts';

export const setup: ChannelSetup = {
  steps: [
    'Use a phone number of its own for the bot, with WhatsApp on a phone. WhatsApp does not allow bots on personal accounts, and may block the number.',
    `Baileys speaks WhatsApp's protocol. Hermetic does not contain it, because a part of it is licensed under the GPL: install it with npm install baileys@${baileysVersion}`,
  ],
  fields: [],
  async check() {
    await loadBaileys();
    return `Baileys ${baileysVersion} is installed.`;
  },
  next: 'Start the gateway and scan the QR code that it shows: on the phone, WhatsApp > Linked devices > Link a device.',
};
