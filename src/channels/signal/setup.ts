import { hermetic } from '../../lib/own-command.ts';
import { CallError } from '../call-error.ts';
import type { ChannelSetup } from '../setup.ts';
import { daemonAt } from './daemon-at.ts';
import { reasonOf, unusable } from './failures.ts';
import { hasAccount } from './introduction.ts';
import { isAccount } from './options.ts';
import { Self } from './self.ts';

const daemonHint = 'Start it: signal-cli -a +15551234567 daemon --http 127.0.0.1:8080 --receive-mode=on-connection';

export const setup: ChannelSetup = {
  steps: [
    'Install signal-cli, which needs Java: github.com/AsamK/signal-cli.',
    'Give it an account: register a number of its own with signal-cli -a +15551234567 register, or link it to your phone with signal-cli link -n Hermetic.',
    'Run it: signal-cli -a +15551234567 daemon --http 127.0.0.1:8080 --receive-mode=on-connection',
    'Anyone who reaches that address can read and write in your name: keep it on this machine.',
  ],
  fields: [
    {
      option: 'account',
      message: 'The phone number of the account, such as +15551234567',
      problem: (value) => (isAccount(value) ? undefined : 'This is no phone number with its country code: it has the form +15551234567.'),
    },
  ],
  async check({ options }) {
    const account = String(options.account ?? '');
    const apiRoot = options.api_root as string | undefined;
    const daemon = daemonAt({ account, apiRoot, socket: options.socket as string | undefined });
    try {
      const isListed = await hasAccount(daemon, new Self(account));
      return isListed
        ? `signal-cli has the account ${account}.`
        : 'signal-cli answers. It was started for one account, and does not say which.';
    } catch (error) {
      throw error instanceof CallError ? unusable(reasonOf(error), daemonHint) : error;
    }
  },
  next: `Write to that number from your phone: it gives you a code for ${hermetic} pairing approve. If it is your own number, set signal.note_to_self to true and write in Note to Self.`,
};
